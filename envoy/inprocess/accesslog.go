package inprocess

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	filelogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// logFormat is what a listener's access log says, and where.
type logFormat struct {
	path    string
	members []logMember
	// unlogged is the path of requests that have no line, or empty.
	unlogged string
}

// logMember is a member of a line. value returns nil for what a request does not have.
type logMember struct {
	name  string
	value func(*wasmhost.Stream, *wasmhost.StreamInfo) any
}

// readAccessLog reads a listener's access log, or returns nil if there is none. It supports one file of JSON objects
// whose members are single commands, and a filter that leaves out one path.
func readAccessLog(logs []*accesslogv3.AccessLog) (*logFormat, error) {
	if len(logs) == 0 {
		return nil, nil
	}
	file := &filelogv3.FileAccessLog{}
	if len(logs) > 1 || !logs[0].GetTypedConfig().MessageIs(file) {
		return nil, errors.New("only one file is supported here")
	}
	if err := logs[0].GetTypedConfig().UnmarshalTo(file); err != nil {
		return nil, err
	}
	format := file.GetLogFormat().GetJsonFormat()
	if format == nil {
		return nil, errors.New("only JSON objects are supported here")
	}
	f := &logFormat{path: file.GetPath()}
	for name, command := range format.GetFields() {
		value, err := logValue(command.GetStringValue())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.members = append(f.members, logMember{name, value})
	}
	slices.SortFunc(f.members, func(a, b logMember) int { return strings.Compare(a.name, b.name) })
	if filter := logs[0].GetFilter(); filter != nil {
		header := filter.GetHeaderFilter().GetHeader()
		f.unlogged = header.GetStringMatch().GetExact()
		if header.GetName() != ":path" || !header.GetInvertMatch() || f.unlogged == "" {
			return nil, errors.New("only a filter that leaves out one path is supported here")
		}
	}
	return f, nil
}

// The commands without an argument.
var logCommands = map[string]func(*wasmhost.Stream, *wasmhost.StreamInfo) any{
	"START_TIME": func(_ *wasmhost.Stream, i *wasmhost.StreamInfo) any {
		return i.Opened.UTC().Format("2006-01-02T15:04:05.000Z")
	},
	"RESPONSE_CODE": func(_ *wasmhost.Stream, i *wasmhost.StreamInfo) any { return i.Status },
	"RESPONSE_CODE_DETAILS": func(_ *wasmhost.Stream, i *wasmhost.StreamInfo) any {
		return textOrNull(i.Details, i.HasDetails)
	},
	"RESPONSE_FLAGS": func(_ *wasmhost.Stream, i *wasmhost.StreamInfo) any {
		if i.Flags == "" {
			return "-"
		}
		return i.Flags
	},
	"DURATION": func(_ *wasmhost.Stream, i *wasmhost.StreamInfo) any {
		return i.Duration.Milliseconds()
	},
	"BYTES_RECEIVED": func(_ *wasmhost.Stream, i *wasmhost.StreamInfo) any { return i.Received },
	"BYTES_SENT":     func(_ *wasmhost.Stream, i *wasmhost.StreamInfo) any { return i.Sent },
	"UPSTREAM_HOST": func(_ *wasmhost.Stream, i *wasmhost.StreamInfo) any {
		return textOrNull(i.Upstream, i.Upstream != "")
	},
}

// logValue returns what a command such as %REQ(NAME)% stands for.
func logValue(command string) (func(*wasmhost.Stream, *wasmhost.StreamInfo) any, error) {
	inner, opened := strings.CutPrefix(command, "%")
	inner, closed := strings.CutSuffix(inner, "%")
	name, argument, called := strings.Cut(strings.TrimSuffix(inner, ")"), "(")
	unsupported := fmt.Errorf("%s is not supported here", command)
	if !opened || !closed || called != strings.HasSuffix(inner, ")") {
		return nil, unsupported
	}
	if value := logCommands[name]; value != nil && !called {
		return value, nil
	}
	switch name {
	case "DYNAMIC_METADATA", "UPSTREAM_METADATA": // of filters that only Envoy has, and of servers of spares
		return func(*wasmhost.Stream, *wasmhost.StreamInfo) any { return nil }, nil
	case "REQ":
		if argument == "" || strings.ContainsRune(argument, '?') {
			return nil, unsupported
		}
		header := strings.ToLower(argument)
		return func(s *wasmhost.Stream, _ *wasmhost.StreamInfo) any { return textOrNull(s.RequestHeader(header)) }, nil
	case "TYPED_CEL":
		property, isState := strings.CutPrefix(argument, "int(filter_state['wasm.")
		property, isInt := strings.CutSuffix(property, "'])")
		if !isState || !isInt {
			return nil, unsupported
		}
		return func(s *wasmhost.Stream, _ *wasmhost.StreamInfo) any {
			value, _ := s.State(property)
			if _, err := strconv.ParseInt(string(value), 10, 64); err != nil {
				return nil
			}
			return json.Number(value)
		}, nil
	case "FILTER_STATE":
		property, isPlain := strings.CutSuffix(argument, ":PLAIN")
		property, isFilters := strings.CutPrefix(property, "wasm.")
		if !isPlain || !isFilters {
			return nil, unsupported
		}
		return func(s *wasmhost.Stream, _ *wasmhost.StreamInfo) any {
			value, ok := s.State(property)
			return textOrNull(string(value), ok)
		}, nil
	}
	return nil, unsupported
}

func textOrNull(text string, found bool) any {
	if !found {
		return nil
	}
	return text
}

// line returns a stream's line with its end, or nil if the stream has none.
func (f *logFormat) line(s *wasmhost.Stream) []byte {
	if path, _ := s.RequestHeader(":path"); f.unlogged != "" && path == f.unlogged {
		return nil
	}
	info := s.Info()
	out := &strings.Builder{}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	line := []byte{'{'}
	for i, m := range f.members {
		if i > 0 {
			line = append(line, ',')
		}
		out.Reset()
		_ = encoder.Encode(m.name) // neither a text nor a number fails
		line = append(append(line, strings.TrimSuffix(out.String(), "\n")...), ':')
		out.Reset()
		_ = encoder.Encode(m.value(s, &info))
		line = append(line, strings.TrimSuffix(out.String(), "\n")...)
	}
	return append(line, '}', '\n')
}
