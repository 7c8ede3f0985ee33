#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pombo_fuzz::groups(data));
