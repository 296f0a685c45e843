package bpe

// Build makes the table of a vocabulary: token i is blob[ends[i-1]:ends[i]]
// (the first begins at 0). The same tokens always give the same bytes.
//
// ErrTable when the tokens do not fit the format: none or more than 262,144,
// an empty one or one longer than 255 bytes, two alike, a byte without its own
// token, records beyond 4 MiB.
func Build(blob []byte, ends []uint32) ([]byte, error) {
	count := uint32(len(ends))
	if len(ends) == 0 || len(ends) > maxCount || uint64(ends[count-1]) != uint64(len(blob)) {
		return nil, ErrTable
	}
	// A load of about one half: a lookup that fails ends after two or three
	// slots, and the slots still fit beside the records in a 4 MiB cache.
	slots := count*2 - count/32 + 8
	index := uint32(pairsEnd)
	slotAt := index + (count+indexStep-1)/indexStep*4
	records := slotAt + slots*4
	end := uint64(records) + uint64(count)*recordHead + uint64(len(blob))
	if end > maxTable {
		return nil, ErrTable
	}
	t := make([]byte, end+tailSize)
	copy(t, magic)
	put32(t, atVersion, version)
	put32(t, atCount, count)
	put32(t, atSlots, slots)
	put32(t, atIndex, index)
	put32(t, atSlotBase, slotAt)
	put32(t, atRecords, records)
	put32(t, atEnd, uint32(end))

	longest, at, from := uint32(0), records, uint32(0)
	for id, to := range ends {
		if to <= from || to-from > maxToken || uint64(to) > uint64(len(blob)) {
			return nil, ErrTable
		}
		token := blob[from:to]
		if id%indexStep == 0 {
			put32(t, index+uint32(id)/indexStep*4, at)
		}
		put32(t, at, uint32(id)|(to-from)<<24)
		copy(t[at+recordHead:], token)
		if !enter(t, token, uint32(id), at, slotAt, slots) {
			return nil, ErrTable
		}
		longest = max(longest, to-from)
		at += recordHead + to - from
		from = to
	}
	put32(t, atMaxLen, longest)
	if _, err := Open(t); err != nil { // also sees a byte without its token
		return nil, err
	}
	return t, nil
}

// enter makes a token findable; false if one with the same bytes is there.
// Ids come in order, so the commonest tokens lie nearest to their home slot.
func enter(t, token []byte, id, at, slotAt, slots uint32) bool {
	if len(token) <= 2 {
		place := uint32(singlesBase) + 4*uint32(token[0])
		if len(token) == 2 {
			place = pairsBase + 4*(uint32(token[0])<<8|uint32(token[1]))
		}
		if u32(t, place) != 0 {
			return false
		}
		put32(t, place, id+1)
		return true
	}
	h := hash(token, word(token))
	slot := home(h, slots)
	for ; ; slot = (slot + 1) % slots {
		s := u32(t, slotAt+4*slot)
		if s == 0 {
			break
		}
		old := s & (maxTable - 1)
		n := u32(t, old) >> 24
		if string(t[old+recordHead:old+recordHead+n]) == string(token) {
			return false
		}
	}
	put32(t, slotAt+4*slot, at|fingerprint(h)<<offsetBits)
	return true
}

func put32(t []byte, at, x uint32) {
	if uint64(at)+4 > uint64(len(t)) {
		return
	}
	b := t[at : at+4 : at+4]
	b[0], b[1], b[2], b[3] = byte(x), byte(x>>8), byte(x>>16), byte(x>>24)
}
