package inprocess

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	filelogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	streamlogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestAccessLogIsRead: the log that Envoy gets is read, with every member, and its health checks are left out.
func TestAccessLogIsRead(t *testing.T) {
	c := config.Default()
	c.AccessLog = "/var/log/harmony.json"
	c.Models = []config.Model{config.DefaultModel("one", "vllm=http://10.0.0.1:8000")}
	r, err := build(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := readListener(r)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range l.log.members {
		names[m.name] = true
	}
	for _, field := range append(contract.LogFields(), "time", "status", "upstream") {
		if !names[field] {
			t.Errorf("%s is not read", field)
		}
	}
	if l.log.path != c.AccessLog || l.log.unlogged != "/health" {
		t.Errorf("got %+v", l.log)
	}
}

// TestAccessLogsThatNeedEnvoy: what cannot be written here is refused, and not left out.
func TestAccessLogsThatNeedEnvoy(t *testing.T) {
	packed := func(m proto.Message) *accesslogv3.AccessLog {
		any, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		return &accesslogv3.AccessLog{ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: any}}
	}
	file := func(command string) *accesslogv3.AccessLog {
		return packed(&filelogv3.FileAccessLog{AccessLogFormat: &filelogv3.FileAccessLog_LogFormat{
			LogFormat: &corev3.SubstitutionFormatString{Format: &corev3.SubstitutionFormatString_JsonFormat{
				JsonFormat: &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewStringValue(command)}}}}}})
	}
	filtered := file("%DURATION%")
	filtered.Filter = &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_HeaderFilter{
		HeaderFilter: &accesslogv3.HeaderFilter{Header: &routev3.HeaderMatcher{Name: "x", InvertMatch: true}}}}
	for _, logs := range [][]*accesslogv3.AccessLog{
		{file("%DURATION%"), file("%DURATION%")}, {packed(&streamlogv3.StdoutAccessLog{})},
		{packed(&filelogv3.FileAccessLog{})},
		{file("%PROTOCOL%")}, {file("%REQ(:path)% ")}, {file("DURATION")}, {file("%DURATION(x)%")},
		{file("%REQ%")}, {file("%REQ(A?B)%")}, {file("%%")},
		{file("%FILTER_STATE(wasm.harmony_api)%")}, {file("%FILTER_STATE(envoy.x:PLAIN)%")}, {file("")}, {filtered},
	} {
		if f, err := readAccessLog(logs); err == nil {
			t.Errorf("%v: read as %+v", logs, f)
		}
	}
	if f, err := readAccessLog(nil); f != nil || err != nil {
		t.Errorf("no log: %v, %v", f, err)
	}
}

// TestLogFile: lines are added to what the file has, and all are there when the log is closed.
func TestLogFile(t *testing.T) {
	f := &logFormat{path: filepath.Join(t.TempDir(), "log.json")}
	if err := os.WriteFile(f.path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := f.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n"
	for i := range 1000 {
		l.put(fmt.Appendln(nil, i))
		want += fmt.Sprintln(i)
	}
	l.close()
	l.put([]byte("after\n"))
	if got, err := os.ReadFile(f.path); err != nil || string(got) != want {
		t.Errorf("got %d bytes, want %d: %v", len(got), len(want), err)
	}
	if _, err := (&logFormat{path: t.TempDir()}).open(nil); err == nil || !strings.Contains(err.Error(), "access_log") {
		t.Errorf("a folder is opened: %v", err)
	}
}

// TestLogNobodyReads: a reader that does not read holds nobody. The lines that wait are bounded, and the others are
// counted.
func TestLogNobodyReads(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	warned := make(chan string, 100)
	l, err := (&logFormat{path: pipe}).open(func(_ wasmhost.Level, text string) { warned <- text })
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("x", 1<<16-1) + "\n")
	for range 4 * maxWaiting / len(line) {
		l.put(line)
	}
	l.mu.Lock()
	if len(l.waiting) > maxWaiting || l.lost == 0 {
		t.Errorf("%d bytes wait, and %d lines are lost", len(l.waiting), l.lost)
	}
	l.mu.Unlock()
	began := time.Now()
	l.close()
	if took := time.Since(began); took > 5*drainLimit {
		t.Errorf("closing takes %s", took)
	}
	if text := <-warned; !strings.Contains(text, "takes no lines") {
		t.Errorf("the log says %q", text)
	}
	_, _ = io.CopyN(io.Discard, reader, 1) // the writer may end now
}
