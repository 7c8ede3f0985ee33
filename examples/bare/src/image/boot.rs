//! From the loader to Rust: the note by which a PVH loader finds the entry, the page tables, and the stack.
//!
//! The loader (QEMU, Xen, Firecracker) enters in 32-bit mode without paging, with the address of its start information in
//! EBX. The tables map the first and the fourth GiB to themselves: memory, and the registers of devices. The 2 MiB below
//! the stack are mapped to nothing: a stack that overflows ends the machine, and writes over nothing.

use core::arch::global_asm;

/// Bytes of the stack, of which 60 KiB are used: the communicator is on it, and is moved once while it is made. With
/// MPI's program beside the others the channel is made by a function that both share, which has it once more.
pub(crate) const STACK_BYTES: usize = match cfg!(feature = "programs") {
    true => 128 << 10,
    false => 80 << 10,
};

global_asm!(
    r#"
    .section .note.pvh, "a", @note
    .balign 4
    .long 4, 8, 18          # length of the name, of the value, XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .quad pvh_start

    .section .boot, "ax"
    .code32
    .globl pvh_start
pvh_start:
    cli
    cld
    movl $bss_start, %edi
    movl $bss_end, %ecx
    subl %edi, %ecx
    shrl $2, %ecx
    xorl %eax, %eax
    rep stosl

    movl $page_directory_0 + 3, page_directory_pointers
    movl $page_directory_3 + 3, page_directory_pointers + 24
    movl $page_directory_pointers + 3, page_map
    movl $page_directory_0, %edi
    movl $0x83, %eax        # present, writable, 2 MiB
    call 2f
    movl $0, page_directory_0 + 8
    movl $page_directory_3, %edi
    movl $0xc0000083, %eax
    call 2f

    movl $0x620, %eax       # PAE, OSFXSR, OSXMMEXCPT: compiled code uses SSE
    movl %eax, %cr4
    movl $page_map, %eax
    movl %eax, %cr3
    movl $0xc0000080, %ecx  # EFER: long mode
    rdmsr
    orl $0x100, %eax
    wrmsr
    movl $0x80010033, %eax  # paging, write protection, numeric errors, monitor, protection
    movl %eax, %cr0
    lgdt gdt_pointer
    ljmp $8, $3f

2:  movl $512, %ecx
4:  movl %eax, (%edi)
    addl $0x200000, %eax
    addl $8, %edi
    loop 4b
    ret

    .code64
3:  movl $16, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    movl $stack_end, %esp
    movl %ebx, %edi
    xorl %ebp, %ebp
    call {begin}
    ud2

    .balign 8
gdt:
    .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff
gdt_pointer:
    .word 23
    .quad gdt

    .section .bss.boot, "aw", @nobits
    .balign 4096
page_map: .skip 4096
page_directory_pointers: .skip 4096
page_directory_0: .skip 4096
page_directory_3: .skip 4096

    .section .stack, "aw", @nobits
    .globl stack_start, stack_end
stack_start: .skip {stack}
stack_end:
    .text
    "#,
    begin = sym begin,
    stack = const STACK_BYTES,
    options(att_syntax),
);

/// What the loader tells, as far as it is used here. Source: `start_info.h` of Xen, version 0.
#[repr(C)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
}

const MAGIC: u32 = 0x336e_c578;
/// Bytes of the command line that are read at most.
const COMMAND_LINE: usize = 1024;

extern "C" fn begin(start: *const StartInfo) -> ! {
    // SAFETY: by the PVH protocol EBX, which the code above hands on, has the address of this structure, which lies in
    // the memory that is mapped; nothing writes there later.
    let info = unsafe { &*start };
    let mut line: &'static [u8] = b"";
    if info.magic == MAGIC && info.command_line != 0 {
        let first = info.command_line as *const u8;
        let mut len = 0;
        // SAFETY: the command line is a string of C in memory that is mapped, which nothing writes later; what is read
        // ends at its zero.
        unsafe {
            while len < COMMAND_LINE && *first.add(len) != 0 {
                len += 1;
            }
            line = core::slice::from_raw_parts(first, len);
        }
    }
    crate::main(line)
}

/// Returns the bytes of the stack that were never used: those that still are as the boot code has left them.
pub(crate) fn unused_stack() -> usize {
    unsafe extern "C" {
        static stack_start: [u64; STACK_BYTES / 8];
    }
    let first = (&raw const stack_start).cast::<u64>();
    let mut words = 0;
    // SAFETY: the words from `stack_start` on are those of the stack; each is read once, without a reference to it.
    while words < STACK_BYTES / 8 && unsafe { first.add(words).read_volatile() } == 0 {
        words += 1;
    }
    words * 8
}
