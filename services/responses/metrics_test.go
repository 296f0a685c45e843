package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/harmonyedge/harmonyedge/internal/memlog"
)

// linesOf returns the lines of a log.
func linesOf(l *memlog.Log) []string {
	return strings.Split(strings.TrimSuffix(l.String(), "\n"), "\n")
}

// series returns the values of all series but histograms' buckets, by name and labels.
func series(t *testing.T, s *Service) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.Metrics())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := strings.TrimPrefix(f.GetName(), "harmony_responses_") + "{" + strings.Join(labels, ",") + "}"
			switch {
			case m.Histogram != nil:
				all[name] = float64(m.Histogram.GetSampleCount())
			case m.Counter != nil:
				all[name] = m.Counter.GetValue()
			default:
				all[name] = m.Gauge.GetValue()
			}
		}
	}
	return all
}

// await waits until a value is there that the service sets after its answer.
func await(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

func TestMetrics(t *testing.T) {
	log := &memlog.Log{}
	f := start(t, Options{AccessLog: log, Settings: Settings{InFlight: 2}})
	one := f.create(`"input":"first"`)
	f.create(`"input":"second","previous_response_id":"` + one + `"`)
	f.wants(404, "", "GET", "/v1/responses/resp_0", "")
	f.wants(404, "unknown_url", "GET", "/v1/secret-of-a-client", "")
	background := f.create(`"input":"third","background":true`)
	var all map[string]float64
	await(t, func() bool {
		all = series(t, f.s)
		return all["responses_total{status=completed}"] == 3 && all["requests_in_flight{}"] == 0 &&
			all["background{state=running}"] == 0 && all["requests_total{route=POST /v1/responses,status=200}"] == 3
	})
	for name, want := range map[string]float64{
		"requests_total{route=GET /v1/responses/{id},status=404}": 1,
		"requests_total{route=other,status=404}":                  1,
		"request_seconds{route=POST /v1/responses}":               3,
		"responses_total{status=cancelled}":                       0,
		"responses_total{status=failed}":                          0,
		"chain_turns{}":                                           1,
		"chain_bytes{}":                                           1,
		"store_up{}":                                              1,
		"background{state=waiting}":                               0,
		"background{state=running}":                               0,
		"expired_total{}":                                         0,
	} {
		if got, is := all[name]; !is || got != want {
			t.Errorf("%s is %v, %t", name, got, is)
		}
	}
	for _, operation := range []string{"begin", "select", "insert", "chain", "commit"} {
		if all["store_seconds{operation="+operation+"}"] == 0 {
			t.Errorf("no operation %s", operation)
		}
	}
	lines := linesOf(log)
	if len(lines) != 5 {
		t.Fatalf("%q", lines)
	}
	for i, want := range []string{"POST /v1/responses 200 m", "POST /v1/responses 200 m", "GET /v1/responses/{id} 404 ",
		"other 404 ", "POST /v1/responses 200 m"} {
		var l logLine
		if err := json.Unmarshal([]byte(lines[i]), &l); err != nil || l.Time.IsZero() || l.BytesSent == 0 ||
			fmt.Sprint(l.Route, " ", l.Status, " ", l.Model) != want {
			t.Errorf("%s, %v, want %s", lines[i], err, want)
		}
	}
	for _, secret := range []string{"first", "Hello", "secret-of-a-client", one, background} {
		if strings.Contains(strings.Join(lines, "\n"), secret) {
			t.Errorf("the access log has %q: %q", secret, lines)
		}
	}
}

// TestMetricsOfFailures has a store that is lost, an overload, and a stream that is made in the background.
func TestMetricsOfFailures(t *testing.T) {
	f := start(t, Options{Settings: Settings{InFlight: 1, Background: 1}})
	f.hold = make(chan struct{})
	running := f.create(`"input":"first","background":true`)
	<-f.asked
	f.create(`"input":"second","background":true`)
	all := series(t, f.s)
	if all["background{state=waiting}"] != 1 || all["background{state=running}"] != 1 {
		t.Errorf("%v", all)
	}
	if status, body := f.do("POST", "/v1/responses/"+running+"/cancel", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if got := series(t, f.s)["responses_total{status=cancelled}"]; got != 1 {
		t.Errorf("%v cancelled", got)
	}
	close(f.hold)
	await(t, func() bool { return series(t, f.s)["responses_total{status=completed}"] == 1 })
	f.s.database.Load().Close()
	all = series(t, f.s)
	if all["store_up{}"] != 0 || all["store_errors_total{operation=select}"] == 0 {
		t.Errorf("%v", all)
	}
	f.wants(503, "store_unavailable", "GET", "/v1/responses/resp_0", "")
}

// TestNoAccessLog: an access log that cannot be written fails no request.
func TestNoAccessLog(t *testing.T) {
	f := start(t, Options{AccessLog: fullDisk{}})
	f.create(`"input":"first"`)
}

type fullDisk struct{}

// Write implements [io.Writer].
func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestMetricsAreDocumented holds docs/metrics.md against the metrics, in both directions.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		New(Options{}).Metrics().Describe(descs)
	}()
	for d := range descs {
		names = append(names, regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1])
	}
	var told []string
	rows := regexp.MustCompile("(?m)^\\| `(harmony_responses_\\w+)` \\|")
	for _, row := range rows.FindAllStringSubmatch(string(page), -1) {
		told = append(told, row[1])
	}
	slices.Sort(names)
	slices.Sort(told)
	if !slices.Equal(names, told) {
		t.Errorf("docs/metrics.md tells of %q\nand there are %q", told, names)
	}
	for _, member := range reflect.VisibleFields(reflect.TypeFor[logLine]()) {
		name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/metrics.md does not tell of %s", name)
		}
	}
}
