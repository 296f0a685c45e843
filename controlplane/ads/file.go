package ads

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/harmonyedge/harmonyedge/internal/atomicfile"
)

// Save writes resources to a file: a JSON array with one DiscoveryResponse for each type. It leaves secrets out, which
// must not be on disk. It replaces the file atomically.
func Save(file string, r Resources) error {
	s, err := newSnapshot(r, nil)
	if err != nil {
		return err
	}
	var responses []json.RawMessage
	for _, t := range order {
		c := s[t]
		if t == resource.SecretType || c.version == "" {
			continue
		}
		d := &discovery.DiscoveryResponse{TypeUrl: t, VersionInfo: c.version}
		for _, name := range slices.Sorted(maps.Keys(c.resources)) {
			d.Resources = append(d.Resources, c.resources[name].GetResource())
		}
		raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(d)
		if err != nil {
			return fmt.Errorf("ads: %s: %w", shortNames[t], err)
		}
		responses = append(responses, raw)
	}
	// encoding/json indents, because protojson's own spaces differ from build to build.
	text, err := json.MarshalIndent(responses, "", "  ")
	if err != nil {
		return fmt.Errorf("ads: %w", err)
	}
	if err := atomicfile.Write(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("ads: the last good snapshot cannot be saved: %w", err)
	}
	return nil
}

// Load reads a file that [Save] has written. The error wraps [io/fs.ErrNotExist] if the file does not exist.
func Load(file string) (Resources, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ads: %w", err)
	}
	damaged := func(err error) error {
		return fmt.Errorf("ads: %s is not a saved snapshot (%w): delete it; the next good configuration is saved again", file,
			err)
	}
	var responses []json.RawMessage
	if err := json.Unmarshal(text, &responses); err != nil {
		return nil, damaged(err)
	}
	r := Resources{}
	for _, raw := range responses {
		d := &discovery.DiscoveryResponse{}
		if err := protojson.Unmarshal(raw, d); err != nil {
			return nil, damaged(err)
		}
		for _, a := range d.GetResources() {
			m, err := a.UnmarshalNew()
			if err != nil {
				return nil, damaged(err)
			}
			r[d.GetTypeUrl()] = append(r[d.GetTypeUrl()], m)
		}
	}
	if _, err := newSnapshot(r, nil); err != nil {
		return nil, damaged(err)
	}
	return r, nil
}
