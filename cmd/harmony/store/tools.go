package store

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/services/responses"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// toolOptions returns the tools of a configuration's responses service. It reads the files with the servers' headers.
func toolOptions(c *config.Config) (responses.ToolOptions, error) {
	t := &c.ResponsesService.Tools
	o := responses.ToolOptions{Browser: t.Browser, Python: t.Python, Container: t.Container,
		RefuseOthers: c.RefusesOtherTools(), Searches: t.Searches(), BrowserCursors: t.BrowserCursors, Rounds: t.Rounds,
		Time: time.Duration(t.Time), CallTime: time.Duration(t.CallTime), ResultLimit: int64(t.ResultLimit),
		Parallel: t.Parallel}
	for _, place := range t.Allow {
		o.Allow = append(o.Allow, strings.ToLower(place))
	}
	for i := range t.Servers {
		s := &t.Servers[i]
		headers, err := readHeaders(s.HeadersFile)
		if err != nil {
			return o, &config.Error{Field: fmt.Sprintf("responses_service.tools.servers[%d].headers_file", i),
				Reason: err.Error()}
		}
		server := responses.ToolServer{Label: s.Label, URL: s.URL, Transport: s.Transport, Command: s.Command,
			Headers: headers, AllowedTools: s.AllowedTools, RequireApproval: s.RequireApproval}
		for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
			server.Environment = append(server.Environment, name+"="+s.Environment[name])
		}
		o.Servers = append(o.Servers, server)
	}
	return o, nil
}

// HeadersFiles are the files with headers of a configuration's servers of tools.
func HeadersFiles(c *config.Config) []string {
	var files []string
	for i := range c.ResponsesService.Tools.Servers {
		files = append(files, c.ResponsesService.Tools.Servers[i].HeadersFile)
	}
	return files
}

// maxHeadersFile is the size of the largest file with headers. Servers take less.
const maxHeadersFile = 64 << 10

// readHeaders reads a file with a header on each line, as Name: value. It returns nil if there is no file. Empty lines
// and those that begin with # are passed over. Its errors show nothing of the file, which holds secrets.
func readHeaders(file string) (http.Header, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHeadersFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxHeadersFile {
		return nil, fmt.Errorf("%s is larger than 64 KiB, which is the limit", file)
	}
	headers, number := http.Header{}, 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, err := readHeader(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
		headers.Add(name, value)
	}
	if len(headers) == 0 {
		return nil, fmt.Errorf("%s has no header; write Name: value, or leave headers_file out", file)
	}
	return headers, nil
}

func readHeader(line string) (name, value string, err error) {
	name, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch {
	case !ok || !httpguts.ValidHeaderFieldName(name):
		return "", "", errors.New("is not a header; write Name: value, such as Authorization: Bearer …")
	case value == "" || !httpguts.ValidHeaderFieldValue(value):
		return "", "", errors.New("has no value, or one with characters that a header cannot have; write Name: value")
	}
	if toolserver.CheckHeader(name, value) != nil {
		return "", "", errors.New("is a header that the service sets itself; remove the line")
	}
	return name, value, nil
}
