package o200k

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The packed file, numbers little-endian u32:
//
//	"OVOC", version 1, tokens n, bytes of all tokens, bytes of all suffixes
//	SHA-256 of the source file
//	SHA-256 of what it unpacks to: by rank, a length byte and the bytes
//	one flate stream of four parts:
//	  n bytes: how many bytes the token shares with the one before it
//	  n bytes: its length
//	  the other bytes of each token
//	  the ranks: n low bytes, n middle bytes, n high bytes
//
// Tokens are in byte order. 842 KB in all, against some 1,000 KB by rank.
const (
	fileVersion = 1
	fileHeader  = 4 + 4*4 + 2*sha256.Size
	maxTokens   = 1 << 18
	maxBytes    = 1 << 22
)

var errFile = errors.New("o200k: not a packed vocabulary of this version")

// unpack returns the bytes of all tokens by rank, where each one ends, and the ranks in the order of the tokens' bytes.
func unpack(file []byte) (blob []byte, ends, sorted []uint32, err error) {
	if len(file) < fileHeader || string(file[:4]) != "OVOC" {
		return nil, nil, nil, errFile
	}
	field := func(i int) uint32 { return binary.LittleEndian.Uint32(file[4+4*i:]) }
	n, total, suffixes := field(1), field(2), field(3)
	if field(0) != fileVersion || n == 0 || n > maxTokens || total > maxBytes || suffixes > total {
		return nil, nil, nil, errFile
	}
	data := make([]byte, 5*n+suffixes)
	stream := flate.NewReader(bytes.NewReader(file[fileHeader:]))
	if _, err := io.ReadFull(stream, data); err != nil {
		return nil, nil, nil, fmt.Errorf("%w: %w", errFile, err)
	}
	shared, length, rest := data[:n], data[n:2*n], data[2*n:]
	suffix, ranks := rest[:suffixes], rest[suffixes:]
	rank := func(i uint32) uint32 {
		return uint32(ranks[i]) | uint32(ranks[n+i])<<8 | uint32(ranks[2*n+i])<<16
	}

	// Lengths come first: they determine where each rank's bytes are.
	ends, sorted = make([]uint32, n), make([]uint32, n)
	for i := range n {
		r := rank(i)
		if r >= n {
			return nil, nil, nil, errFile
		}
		ends[r], sorted[i] = uint32(length[i]), r
	}
	at := uint32(0)
	for r := range ends {
		at += ends[r]
		ends[r] = at
	}
	if at != total {
		return nil, nil, nil, errFile
	}

	blob = make([]byte, total)
	var last []byte
	for i := range n {
		size, keep := uint32(length[i]), uint32(shared[i])
		end := ends[sorted[i]]
		if keep > size || keep > uint32(len(last)) || size-keep > uint32(len(suffix)) || size > end {
			return nil, nil, nil, errFile
		}
		token := blob[end-size : end]
		copy(token, last[:keep])
		copy(token[keep:], suffix)
		suffix = suffix[size-keep:]
		last = token
	}
	if sum := expandedSum(blob, ends); !bytes.Equal(sum[:], file[fileHeader-sha256.Size:fileHeader]) {
		return nil, nil, nil, fmt.Errorf("%w: it unpacks to something else", errFile)
	}
	return blob, ends, sorted, nil
}

// expandedSum is the SHA-256 of a length byte and the bytes of every token, by rank. It identifies the vocabulary
// independently of any file format.
func expandedSum(blob []byte, ends []uint32) [sha256.Size]byte {
	all := make([]byte, 0, len(blob)+len(ends))
	from := uint32(0)
	for _, to := range ends {
		all = append(all, byte(to-from))
		all = append(all, blob[from:to]...)
		from = to
	}
	return sha256.Sum256(all)
}
