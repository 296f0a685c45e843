package follow

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/harmonyedge/harmonyedge/internal/watch"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Version is one reading of the operator's file, in which no mistake was found. It does not change.
type Version struct {
	// Config and Resolved are the configuration. Both are nil for a program that follows a keys file alone.
	Config   *config.Config
	Resolved *config.Resolved
	// Secrets are the values of the secrets that the program needs, by name. It is never nil.
	Secrets map[string]config.SecretValue
	// Clients is the keys file. It is nil if there is none, or if the program needs none.
	Clients *clients.File
	// files are the hashes of the further files that parts read, by path.
	files map[string][sha256.Size]byte
}

// maxFile is the largest further file whose content is compared, in bytes.
const maxFile = 1 << 20

// hashes returns the hashes of files. That of a file that cannot be read is zero: a part says what is wrong with it.
func hashes(paths []string) map[string][sha256.Size]byte {
	all := map[string][sha256.Size]byte{}
	for _, path := range paths {
		if data, err := watch.Read(path, maxFile); err == nil {
			all[path] = sha256.Sum256(data)
		}
	}
	return all
}

// maxListedChanges is how many changes a log line lists.
const maxListedChanges = 20

// Changes returns the names of the settings that differ from an earlier version, without their values: for a log line.
func (v *Version) Changes(before *Version) []string {
	var all []string
	if v.Config != nil && before.Config != nil {
		all = config.Changes(before.Config, v.Config)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Secrets)) {
		if was, ok := before.Secrets[name]; ok && !reflect.DeepEqual(was, v.Secrets[name]) {
			all = append(all, "the value of secrets["+name+"]")
		}
	}
	if !reflect.DeepEqual(before.Clients, v.Clients) {
		all = append(all, "the clients of clients.keys_file")
	}
	for _, path := range slices.Sorted(maps.Keys(v.files)) {
		if was, ok := before.files[path]; ok && was != v.files[path] {
			all = append(all, "the content of "+path)
		}
	}
	if len(all) == 0 {
		return []string{"nothing"}
	}
	if more := len(all) - maxListedChanges; more > 0 {
		all = append(all[:maxListedChanges:maxListedChanges], fmt.Sprintf("and %d more", more))
	}
	return all
}
