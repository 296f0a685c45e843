package main

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

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/internal/filterfile"
)

// filterFlags say which filter runs.
type filterFlags struct {
	wasm, sha256 string
	client       *http.Client // nil is the default client
}

func (f *filterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.wasm, "wasm", "", "the filter's `FILE`, or an https URL with --wasm-sha256 (default: the "+
		"filter in this program; if it was built without, harmony-filter.wasm next to it, or dist/harmony-filter.wasm)")
	flags.StringVar(&f.sha256, "wasm-sha256", "", "the `CHECKSUM` of the filter at the URL: 64 hexadecimal digits")
}

// given reports whether a filter is named.
func (f *filterFlags) given() bool { return f.wasm != "" || f.sha256 != "" }

// find returns the path of the filter's file. It fetches a URL once: the file is kept by its checksum.
func (f *filterFlags) find(ctx context.Context) (string, error) {
	if !strings.HasPrefix(f.wasm, "https://") {
		if f.sha256 != "" {
			return "", usageError{errors.New("--wasm-sha256 is for a filter at a URL; write --wasm https://…")}
		}
		if strings.HasPrefix(f.wasm, "http://") {
			return "", usageError{fmt.Errorf("--wasm %s is not fetched in clear text; write https://", f.wasm)}
		}
		module, err := findModule(f.wasm)
		if err != nil {
			return "", usageError{err}
		}
		return module, nil
	}
	sum := strings.ToLower(f.sha256)
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
		return "", usageError{fmt.Errorf("--wasm %s needs --wasm-sha256 with the file's checksum, 64 hexadecimal digits: "+
			"sha256sum prints it", f.wasm)}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder was found for the filter (%w); fetch it yourself and name the file with --wasm", err)
	}
	folder := filepath.Join(cache, "harmony-edge", "filters")
	file := filepath.Join(folder, sum+".wasm")
	if kept, err := os.ReadFile(file); err == nil && checksum(kept) == sum {
		return file, nil
	}
	content, err := fetchFilter(ctx, cmp.Or(f.client, http.DefaultClient), f.wasm, sum)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return file, ads.Replace(file, content)
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
		return nil, usageError{fmt.Errorf("--wasm %s is not a URL", url)}
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the filter cannot be fetched (%w); fetch it yourself and name the file with --wasm", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the filter cannot be fetched: %s answers %s", url, response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, filterfile.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("the filter cannot be fetched whole: %w", err)
	}
	if got := checksum(content); got != sum {
		return nil, fmt.Errorf("the file at %s has the checksum %s, and --wasm-sha256 is another; nothing of it is used", url,
			got)
	}
	if _, err := filterfile.Read(content); err != nil {
		return nil, fmt.Errorf("the file at %s %w", url, err)
	}
	return content, nil
}
