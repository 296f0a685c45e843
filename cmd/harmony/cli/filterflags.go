package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/internal/atomicfile"
	"github.com/harmonyedge/harmonyedge/internal/bundled"
	"github.com/harmonyedge/harmonyedge/internal/filterfile"
)

// FilterFlags say which filter runs.
type FilterFlags struct {
	wasm, sha256 string
	client       *http.Client // nil is the default client
}

// Add adds the flags to a command's.
func (f *FilterFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.wasm, "wasm", "", "the filter's `FILE`, or an https URL with --wasm-sha256 (default: the "+
		"filter in this program; if it was built without, harmony-filter.wasm next to it, or dist/harmony-filter.wasm)")
	flags.StringVar(&f.sha256, "wasm-sha256", "", "the `CHECKSUM` of the filter at the URL: 64 hexadecimal digits")
}

// Given reports whether a filter is named.
func (f *FilterFlags) Given() bool { return f.wasm != "" || f.sha256 != "" }

// FilterSource is the filter that a command runs.
type FilterSource struct {
	file    string // the path of its file, or "" for the filter in this program
	content []byte // its content, if that stays the same; nil for a file that may be replaced
}

// Path returns the path of a file with the filter, for hosts that read files.
func (s FilterSource) Path() (string, error) {
	if s.file == "" {
		return bundled.Unpack()
	}
	return s.file, nil
}

// HandOut makes a control plane hand the filter out. Only a file that may be replaced is watched.
func (s FilterSource) HandOut(o *server.Options) {
	if s.content != nil {
		o.Module = s.content
	} else {
		o.ModuleFile = s.file
	}
}

// About describes the filter as a control plane does.
func (s FilterSource) About() server.Filter {
	content := s.content
	if content == nil {
		content, _ = os.ReadFile(s.file) // the caller runs it, and has reported what is wrong
	}
	one := server.Filter{File: s.file, Loaded: time.Now()}
	if info, err := filterfile.Read(content); err == nil {
		one.Version, one.SHA256 = info.Version, info.SHA256
	}
	return one
}

// Find returns the filter. It fetches a URL once: the file is kept by its checksum.
func (f *FilterFlags) Find(ctx context.Context) (FilterSource, error) {
	if !strings.HasPrefix(f.wasm, "https://") {
		if f.sha256 != "" {
			return FilterSource{}, Usage(errors.New("--wasm-sha256 is for a filter at a URL; write --wasm https://…"))
		}
		if strings.HasPrefix(f.wasm, "http://") {
			return FilterSource{}, Usage(fmt.Errorf("--wasm %s is not fetched in clear text; write https://", f.wasm))
		}
		found, err := findModule(f.wasm, bundled.Filter)
		if err != nil {
			return FilterSource{}, Usage(err)
		}
		return found, nil
	}
	content, file, err := f.fetch(ctx)
	return FilterSource{file: file, content: content}, err
}

// fetch returns the filter at the URL, and the file in which it is kept.
func (f *FilterFlags) fetch(ctx context.Context) (content []byte, file string, err error) {
	sum := strings.ToLower(f.sha256)
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
		return nil, "", Usage(fmt.Errorf("--wasm %s needs --wasm-sha256 with the file's checksum, 64 hexadecimal digits: "+
			"sha256sum prints it", f.wasm))
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, "", fmt.Errorf("no folder was found for the filter (%w); fetch it yourself and name the file with --wasm", err)
	}
	folder := filepath.Join(cache, "harmony-edge", "filters")
	file = filepath.Join(folder, sum+".wasm")
	if kept, err := os.ReadFile(file); err == nil && checksum(kept) == sum {
		return kept, file, nil
	}
	if content, err = fetchFilter(ctx, cmp.Or(f.client, http.DefaultClient), f.wasm, sum); err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, "", err
	}
	return content, file, atomicfile.Write(file, content, 0o600)
}

func checksum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// fetchTimeout is how long a filter may take to come.
const fetchTimeout = 2 * time.Minute

// fetchFilter returns the filter at a URL, whose content must have this checksum.
func fetchFilter(ctx context.Context, client *http.Client, url, sum string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, Usage(fmt.Errorf("--wasm %s is not a URL", url))
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the filter cannot be fetched (%w); fetch it yourself and name the file with --wasm", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the filter cannot be fetched: %s answers %s; check the URL, or fetch it yourself and name the "+
			"file with --wasm", url, response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, filterfile.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("the filter cannot be fetched whole: %w", err)
	}
	if got := checksum(content); got != sum {
		return nil, fmt.Errorf("checksum mismatch: %s has %s, and --wasm-sha256 says %s; correct the one that is wrong", url, got,
			sum)
	}
	if _, err := filterfile.Read(content); err != nil {
		return nil, fmt.Errorf("the file at %s %w", url, err)
	}
	return content, nil
}
