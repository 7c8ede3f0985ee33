-- Dissector of Pombo's frames for Wireshark and tshark, over raw Ethernet and over UDP:
--   wireshark -X lua_script:examples/wireshark/pombo.lua capture.pcapng
-- or copy it to the directory that Wireshark shows under Help, About, Folders, Personal Lua Plugins.
-- Layouts: netdrivers/src/ethernet_frame.rs, kernel/transport/src/{authenticated,reliable/frame,multicast/frame}.rs and
-- kernel/src/frame.rs.

local pombo = Proto("pombo", "Pombo")

local KINDS = {
    [1] = "DATA", [2] = "REPORT", [3] = "PACKET", [4] = "REPAIR", [5] = "POLL", [6] = "ANNOUNCE", [7] = "REPORT",
}
-- Frames of the kernel: name, bytes of the fields behind the preamble, and offsets of envelope, length and offset.
local MESSAGES = {
    { "eager", 8, 2 }, { "announce", 24, 2, 10 }, { "request", 24, nil, 18 }, { "data", 16, nil, nil, 10 },
    { "abort", 8 }, { "credit", 0 }, { "hold", 1 }, { "pull", 18, 10 }, { "offer", 32, 26, 18 }, { "none", 8 },
    { "decline", 8 }, { "revoke", 8 }, { "revoked", 9 }, { "claim", 8 }, { "hint", 26, 18, 10 },
    { "ahead", 32, 2, 10 }, { "whole", 8 }, { "early", 16, nil, nil, 10 }, { "request behind", 24, nil, 18 },
}
local PAIR, GROUP, AUTH_HEADER = 32, 30, 16

local f = {
    job = ProtoField.uint16("pombo.job", "Job", base.HEX),
    source = ProtoField.uint16("pombo.source", "Source peer", base.DEC),
    destination = ProtoField.uint16("pombo.destination", "Destination peer (65535: all)", base.DEC),
    tag = ProtoField.bytes("pombo.authenticated.tag", "Tag of the seal"),
    authenticated = ProtoField.uint64("pombo.authenticated.number", "Number of the authenticated frame", base.DEC),
    authenticated_to = ProtoField.uint16("pombo.authenticated.destination", "Authenticated for (65535: all)", base.DEC),
    kind = ProtoField.uint8("pombo.kind", "Kind", base.DEC, KINDS, 0x0f),
    ask = ProtoField.bool("pombo.ask", "Asks for a report", 8, nil, 1),
    whole = ProtoField.bool("pombo.whole", "A message of its own", 8, nil, 2),
    refused = ProtoField.bool("pombo.refused", "Nobody was there", 8, nil, 4),
    alone = ProtoField.bool("pombo.alone", "To one receiver alone", 8, nil, 8),
    length = ProtoField.uint16("pombo.length", "Bytes behind the header", base.DEC),
    check = ProtoField.uint32("pombo.check", "Checksum", base.HEX),
    epoch = ProtoField.uint32("pombo.epoch", "Epoch", base.HEX),
    sequence = ProtoField.uint32("pombo.sequence", "Sequence", base.DEC),
    poll = ProtoField.uint32("pombo.poll", "Poll (transmission)", base.DEC),
    expected = ProtoField.uint32("pombo.expected", "Expects", base.DEC),
    heard = ProtoField.uint32("pombo.heard", "Highest transmission heard", base.DEC),
    room = ProtoField.uint16("pombo.room", "Room for", base.DEC),
    group = ProtoField.uint32("pombo.group", "Group", base.DEC),
    message = ProtoField.uint32("pombo.message", "Message of the source", base.DEC),
    map = ProtoField.bytes("pombo.map", "What has arrived above"),
    deltas = ProtoField.bytes("pombo.deltas", "Distances of the packets that it repairs"),
    announced = ProtoField.uint64("pombo.announced", "Bytes announced", base.DEC),
    chunk = ProtoField.uint16("pombo.chunk", "Bytes of a packet", base.DEC),
    what = ProtoField.string("pombo.mpi.kind", "Message"),
    context = ProtoField.uint32("pombo.mpi.context", "Context (twice the communicator; odd: collective)", base.DEC),
    mpi_tag = ProtoField.uint32("pombo.mpi.tag", "Tag (4294967295: any)", base.DEC),
    bytes = ProtoField.uint64("pombo.mpi.length", "Length of the message", base.DEC),
    offset = ProtoField.uint64("pombo.mpi.offset", "Offset in the message", base.DEC),
    payload = ProtoField.bytes("pombo.payload", "Payload"),
}
pombo.fields = f

-- Returns the offset of a frame header, at the start or behind an authentication tag, its length, and where the frame
-- ends. `told` is the number of bytes on the wire. With `more` other frames may follow.
local function find(buffer, told, more)
    for _, at in ipairs({ 0, AUTH_HEADER }) do
        if buffer:len() >= at + GROUP then
            local kind, flags = buffer(at, 1):uint(), buffer(at + 1, 1):uint()
            local length = buffer(at + 2, 2):le_uint()
            local pair = kind == 0x11 or kind == 0x12
            local size = pair and PAIR or GROUP
            local lengths = { [0x12] = 8, [0x15] = 0, [0x16] = 10, [0x17] = 32 }
            if kind >= 0x11 and kind <= 0x17 and flags <= (pair and 1 or 15) and (told == at + size + length or (more and told > at + size + length))
                and buffer:len() >= at + size and (lengths[kind] or length) == length then
                return at, size, at + size + length
            end
        end
    end
end

local function envelope(buffer, tree, at)
    if at and buffer:len() >= at + 8 then
        tree:add_le(f.context, buffer(at, 4))
        tree:add_le(f.mpi_tag, buffer(at + 4, 4))
        return string.format(" comm %d tag %d", math.floor(buffer(at, 4):le_uint() / 2), buffer(at + 4, 4):le_int())
    end
    return ""
end

-- Dissects a frame of the kernel with MPI's header; other programs over the kernel have other headers.
local function message(buffer, tree, length)
    local known = buffer:len() >= 2 and MESSAGES[buffer(0, 1):uint()]
    if not known then return "" end
    local name, fields, envelope_at, length_at, offset_at = known[1], known[2], known[3], known[4], known[5]
    local open = name == "eager" or name == "data" or name == "early"
    if length < 2 + fields or (length > 2 + fields and not open) or buffer:len() < 2 + fields then return "" end
    local sub = tree:add(f.what, buffer(0, 1), name)
    local said = " " .. name .. envelope(buffer, sub, envelope_at)
    if length_at then sub:add_le(f.bytes, buffer(length_at, 8)) end
    if offset_at then sub:add_le(f.offset, buffer(offset_at, 8)) end
    if open and buffer:len() > 2 + fields then sub:add(f.payload, buffer(2 + fields)) end
    return said
end

local function behind(buffer, tree, kind, length)
    if buffer:len() == 0 then return "" end
    if kind == 1 then return message(buffer, tree, length) end
    if kind == 2 or kind == 7 then
        tree:add(f.map, buffer())
    elseif kind == 4 and buffer:len() >= 7 then
        tree:add(f.deltas, buffer(0, 7))
    elseif kind == 6 and buffer:len() >= 10 then
        tree:add_le(f.announced, buffer(0, 8))
        tree:add_le(f.chunk, buffer(8, 2))
    elseif kind == 3 then
        tree:add(f.payload, buffer())
    end
    return ""
end

local function pair(head, tree, kind)
    local report = kind == 2
    tree:add_le(f.sequence, head(report and 20 or 12, 4))
    tree:add_le(f.poll, head(report and 24 or 16, 4))
    tree:add_le(f.expected, head(20, 4))
    tree:add_le(f.heard, head(24, 4))
    tree:add_le(f.room, head(28, 2))
    return head(report and 20 or 12, 4):le_uint()
end

local function group(head, tree)
    tree:add_le(f.group, head(12, 4))
    tree:add_le(f.room, head(16, 2))
    tree:add_le(f.message, head(18, 4))
    tree:add_le(f.sequence, head(22, 4))
    tree:add_le(f.poll, head(26, 4))
    return head(22, 4):le_uint()
end

local function protocol(buffer, pinfo, tree, told)
    local at, size = find(buffer, told)
    if not at then return false end
    if at == AUTH_HEADER then
        tree:add(f.tag, buffer(0, 8))
        tree:add_le(f.authenticated, buffer(8, 8), buffer(8, 6):le_uint64())
        tree:add_le(f.authenticated_to, buffer(14, 2))
    end
    local head = buffer(at, size):tvb()
    local kind, length = head(0, 1):uint() % 16, head(2, 2):le_uint()
    tree:add(f.kind, head(0, 1))
    tree:add(f.ask, head(1, 1))
    if kind > 2 then
        tree:add(f.whole, head(1, 1))
        tree:add(f.refused, head(1, 1))
        tree:add(f.alone, head(1, 1))
    end
    tree:add_le(f.length, head(2, 2))
    tree:add_le(f.check, head(4, 4))
    tree:add_le(f.epoch, head(8, 4))
    local sequence = (kind <= 2 and pair or group)(head, tree, kind)
    local said = ""
    if buffer:len() > at + size then
        said = behind(buffer(at + size):tvb(), tree, kind, length)
    end
    pinfo.cols.info = string.format("%s %d%s", KINDS[kind], sequence, said)
    return true
end

function pombo.dissector(buffer, pinfo, tree)
    if buffer:len() < 10 or buffer(1, 1):uint() ~= 0 then return 0 end
    local told = math.min(buffer(8, 2):le_uint(), buffer:reported_len() - 10)
    pinfo.cols.protocol = "Pombo"
    pinfo.cols.info = "OTHER"
    local top = tree:add(pombo, buffer())
    top:add_le(f.job, buffer(2, 2))
    top:add_le(f.source, buffer(4, 2))
    top:add_le(f.destination, buffer(6, 2))
    if told > 0 and buffer:len() > 10 then
        local length = math.min(told, buffer:len() - 10)
        local inner = buffer(10, length):tvb()
        if inner(0, 1):uint() == 0x3f then
            pinfo.cols.info = "GREETING"
        else
            protocol(inner, pinfo, top, told)
        end
    end
    return buffer:len()
end

-- Dissects a datagram. The sender's interface shows UDP GSO buffers before segmentation: frames of one length, except
-- the last.
local function datagram(buffer, pinfo, tree)
    local told = buffer:reported_len()
    local _, _, each = find(buffer, told, true)
    if not each or (each == told and not find(buffer, told)) then return false end
    for at = 0, told - 1, each do
        local length = math.min(each, told - at, buffer:len() - at)
        if length <= 0 then break end
        local one = buffer(at, length):tvb()
        if not find(one, math.min(each, told - at)) then return at > 0 end
        pinfo.cols.protocol = "Pombo"
        protocol(one, pinfo, tree:add(pombo, buffer(at, length)), math.min(each, told - at))
    end
    return true
end

DissectorTable.get("ethertype"):add(0x88b5, pombo)
pombo:register_heuristic("udp", datagram)
