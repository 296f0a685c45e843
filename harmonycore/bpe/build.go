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
	records := indexBase + 4*count
	end := uint64(records) + uint64(count)*recordHead + uint64(len(blob))
	if end > maxTable {
		return nil, ErrTable
	}
	b := builder{
		blob: blob, ends: ends,
		table: make([]byte, end+tailSize),
		at:    records,
	}
	copy(b.table, magic)
	put32(b.table, atVersion, version)
	put32(b.table, atCount, count)
	put32(b.table, atRecords, records)
	put32(b.table, atEnd, uint32(end))

	longest, from := uint32(0), uint32(0)
	for _, to := range ends {
		if to <= from || to-from > maxToken || uint64(to) > uint64(len(blob)) {
			return nil, ErrTable
		}
		longest = max(longest, to-from)
		from = to
	}
	put32(b.table, atMaxLen, longest)
	hot := min(count, hotIDs)
	if !b.enter(0, hot, hotBase, hotBits) || !b.enter(hot, count, coldBase, coldBits) {
		return nil, ErrTable
	}
	v, err := Open(b.table) // also sees a byte without its token
	if err != nil || !v.finds(b) {
		return nil, ErrTable
	}
	return b.table, nil
}

type builder struct {
	blob  []byte
	ends  []uint32
	table []byte
	at    uint32 // where the next record goes
}

func (b *builder) token(id uint32) []byte {
	from := uint32(0)
	if id > 0 {
		from = b.ends[id-1]
	}
	return b.blob[from:b.ends[id]]
}

// enter writes the ids from first up to end: short ones into their own tables,
// the others bucket by bucket. Within a bucket ids ascend, so that the common
// ones are found first.
func (b *builder) enter(first, end, base, bits uint32) bool {
	// Sort by bucket by counting: heads[i] is where bucket i begins in order.
	heads := make([]uint32, 1<<bits+1)
	buckets := make([]uint32, end-first)
	hashes := make([]uint64, end-first)
	for id := first; id < end; id++ {
		token := b.token(id)
		if len(token) <= 2 {
			place := uint32(singlesBase) + 4*uint32(token[0])
			if len(token) == 2 {
				place = pairsBase + 4*(uint32(token[0])<<8|uint32(token[1]))
			}
			if u32(b.table, place) != 0 {
				return false
			}
			put32(b.table, place, id+1)
			b.record(id, 0)
			continue
		}
		h := hash(token, word(token))
		hashes[id-first] = h
		buckets[id-first] = uint32(h >> (64 - bits))
		heads[buckets[id-first]+1]++
	}
	for i := 1; i < len(heads); i++ {
		heads[i] += heads[i-1]
	}
	order := make([]uint32, heads[len(heads)-1])
	next := append([]uint32(nil), heads...)
	for id := first; id < end; id++ {
		if len(b.token(id)) > 2 {
			i := buckets[id-first]
			order[next[i]] = id
			next[i]++
		}
	}
	for i := uint32(0); i < 1<<bits; i++ {
		ids := order[heads[i]:heads[i+1]]
		bucket := uint64(b.at)
		for k, id := range ids {
			h := hashes[id-first]
			flags := markOf(h) << markShift
			if k == len(ids)-1 {
				flags |= lastFlag
			}
			bucket |= filterOf(h)
			b.record(id, flags)
		}
		if len(ids) > 0 {
			put64(b.table, base+8*i, bucket)
		}
	}
	return true
}

// record writes the record of a token and its place in the index.
func (b *builder) record(id, flags uint32) {
	token := b.token(id)
	put32(b.table, indexBase+4*id, b.at)
	put32(b.table, b.at, id|flags|uint32(len(token))<<24)
	copy(b.table[b.at+recordHead:], token)
	b.at += recordHead + uint32(len(token))
}

// finds reports whether every token is found under its own id; it is not when
// two are alike.
func (v *Vocabulary) finds(b builder) bool {
	for id := range uint32(len(b.ends)) {
		if got, ok := v.Lookup(b.token(id)); !ok || got != id {
			return false
		}
	}
	return true
}

func put32(t []byte, at, x uint32) {
	if uint64(at)+4 > uint64(len(t)) {
		return
	}
	b := t[at : at+4 : at+4]
	b[0], b[1], b[2], b[3] = byte(x), byte(x>>8), byte(x>>16), byte(x>>24)
}

func put64(t []byte, at uint32, x uint64) {
	put32(t, at, uint32(x))
	put32(t, at+4, uint32(x>>32))
}
