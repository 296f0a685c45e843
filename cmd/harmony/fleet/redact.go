package fleet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
)

// redactor replaces secrets in texts.
type redactor struct{ secrets []string }

// shortestSecret is the least length of a value that is replaced. Shorter ones stand in other words.
const shortestSecret = 6

// hide adds a value that no text may have.
func (r *redactor) hide(value string) {
	if value = strings.TrimSpace(value); len(value) >= shortestSecret {
		r.secrets = append(r.secrets, value)
	}
}

// environment adds the values of variables whose names are those of secrets.
func (r *redactor) environment() {
	for _, one := range os.Environ() {
		name, value, _ := strings.Cut(one, "=")
		if secretName.MatchString(name) {
			for part := range strings.SplitSeq(value, ",") {
				r.hide(part)
			}
			r.hide(value)
		}
	}
}

var (
	secretName = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)S?$`)
	// secretShapes match what is a secret wherever it stands: bearer tokens, keys, users of URLs and private keys.
	secretShapes = regexp.MustCompile(`(?i)(bearer\s+)[^\s",}]+|\b(sk-)[\w-]{6,}|((?:api-?key|authorization|password|token)"?[=:]\s*"?)` +
		`[^\s",}]+|(://)[^/\s@"]+@|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----`)
)

const redacted = "[removed]"

// redact returns a text without secrets.
func (r *redactor) redact(text string) string {
	for _, secret := range r.secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return secretShapes.ReplaceAllString(text, "$1$2$3$4"+redacted)
}

const (
	// maxLog is how much of the end of a log is looked at, and maxLogLine how much of a line is kept, in bytes.
	maxLog     = 1 << 20
	maxLogLine = 2000
)

// logLine matches a line of a log that may be shown: one of Harmony Edge's programs, or one of Envoy from warnings on.
// Other lines may be what a model has written.
var logLine = regexp.MustCompile(`^time=\S+ level=\w+ msg=|^\{"time":"[^"]+","level":"\w+","msg":|` +
	`^\[[0-9-]+ [0-9:.]+\](?:\[\d+\])?\[(?:warning|error|critical)\]|^(?:note|warning|error): `)

// logEnd returns the lines of the end of a log that may be shown.
func logEnd(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New(path + " is not a file")
	}
	end, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-maxLog), maxLog))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(end))
	lines.Buffer(nil, maxLog+1)
	for lines.Scan() {
		line := lines.Bytes()
		if !logLine.Match(line) {
			continue
		}
		b.Write(line[:min(len(line), maxLogLine)])
		b.WriteByte('\n')
	}
	return b.String(), lines.Err()
}
