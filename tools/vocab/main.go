// Command vocab packs a .tiktoken file (a line per token: base64, space, rank) into the file that
// harmonycore/tokenizer/o200k embeds:
//
//	go run ./tools/vocab -in o200k_base.tiktoken -out harmonycore/tokenizer/o200k/o200k.vocab
//
// The format is described with its reader, harmonycore/tokenizer/o200k/unpack.go. The same input gives the same output
// with one Go release. Another release of compress/flate may compress differently, which changes the file but not its
// unpacked content.
package main

import (
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	in := flag.String("in", "", "the .tiktoken file")
	out := flag.String("out", "", "the packed file to write")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "vocab:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	if in == "" || out == "" {
		return errors.New("both -in and -out are needed")
	}
	source, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	tokens, err := read(source)
	if err != nil {
		return err
	}
	packed, err := pack(tokens, sha256.Sum256(source))
	if err != nil {
		return err
	}
	fmt.Printf("%d tokens, %d bytes packed, expanded sha256 %x\n", len(tokens), len(packed), expandedSum(tokens))
	return os.WriteFile(out, packed, 0o644)
}

// read returns the tokens by rank. The ranks must be 0 … n-1, in order.
func read(source []byte) ([][]byte, error) {
	var tokens [][]byte
	lines := bufio.NewScanner(bytes.NewReader(source))
	for lines.Scan() {
		text, rank, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			return nil, fmt.Errorf("line %d has no rank", len(tokens)+1)
		}
		if n, err := strconv.Atoi(rank); err != nil || n != len(tokens) {
			return nil, fmt.Errorf("line %d has rank %q", len(tokens)+1, rank)
		}
		token, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(tokens)+1, err)
		}
		if len(token) == 0 || len(token) > 255 {
			return nil, fmt.Errorf("line %d: token of %d bytes", len(tokens)+1, len(token))
		}
		tokens = append(tokens, token)
	}
	return tokens, lines.Err()
}

// pack writes the header and one flate stream of the tokens in byte order.
func pack(tokens [][]byte, source [sha256.Size]byte) ([]byte, error) {
	order := make([]int, len(tokens))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(tokens[a], tokens[b]) })

	var shared, length, suffix []byte
	ranks := make([]byte, 3*len(tokens))
	var last []byte
	total := 0
	for i, rank := range order {
		token := tokens[rank]
		k := 0
		for k < len(token) && k < len(last) && token[k] == last[k] {
			k++
		}
		if k == len(token) {
			return nil, fmt.Errorf("token %q is listed twice", token)
		}
		shared = append(shared, byte(k))
		length = append(length, byte(len(token)))
		suffix = append(suffix, token[k:]...)
		for plane := range 3 {
			ranks[plane*len(tokens)+i] = byte(rank >> (8 * plane))
		}
		total += len(token)
		last = token
	}

	var file bytes.Buffer
	file.WriteString("OVOC")
	for _, n := range []int{1, len(tokens), total, len(suffix)} {
		file.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	}
	file.Write(source[:])
	sum := expandedSum(tokens)
	file.Write(sum[:])
	w, err := flate.NewWriter(&file, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	for _, part := range [][]byte{shared, length, suffix, ranks} {
		if _, err := w.Write(part); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}

// expandedSum identifies the vocabulary independently of any file format: it is the SHA-256 of each token's length in
// one byte and its bytes, by rank.
func expandedSum(tokens [][]byte) [sha256.Size]byte {
	h := sha256.New()
	for _, token := range tokens {
		h.Write([]byte{byte(len(token))})
		h.Write(token)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
