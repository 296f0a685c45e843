package metrics

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

var update = flag.Bool("update", false, "rewrite testdata")

// recordingHost is a host that can define maxMetrics metrics. It keeps their values, unless refusesValues.
type recordingHost struct {
	names         []string
	values        []string
	kinds         []contract.MetricKind
	maxMetrics    int
	defined       int
	refusesValues bool
}

func (k *recordingHost) Define(kind contract.MetricKind, name string) (uint32, bool) {
	k.defined++
	if len(k.names) == k.maxMetrics {
		return 0, false
	}
	k.names, k.values, k.kinds = append(k.names, name), append(k.values, ""), append(k.kinds, kind)
	return uint32(len(k.names) - 1), true
}

func (k *recordingHost) Add(id uint32, n int64)         { k.append(id, fmt.Sprintf(" +%d", n)) }
func (k *recordingHost) Record(id uint32, value uint64) { k.append(id, fmt.Sprintf(" %d", value)) }

func (k *recordingHost) append(id uint32, value string) {
	if !k.refusesValues {
		k.values[id] += value
	}
}

func (k *recordingHost) String() string {
	lines := map[string]bool{}
	for i, name := range k.names {
		lines[name+k.values[i]] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(lines)), "\n") + "\n"
}

// modelsNamed returns models with these names, each with a pool of its own.
func modelsNamed(names ...string) []contract.Model {
	models := make([]contract.Model, len(names))
	for i, name := range names {
		models[i] = contract.Model{Name: name, PoolName: "pool of " + name, Policy: contract.PolicySession,
			Prefill: contract.Prefill{Cluster: "c", Pool: "readers of " + name},
			Route:   []contract.Branch{{PoolName: "short of " + name, Policy: contract.PolicySession}}}
	}
	return models
}

// fullReport is a report in which everything is counted.
func fullReport(model string) *exchange.Report {
	r := &exchange.Report{
		API: "chat", Model: model, Server: "vllm", Pool: "pool of " + model, Policy: contract.PolicySession, Translated: true,
		RoutedBy:     contract.RoutedByPrefix,
		PromptTokens: 100, CachedTokens: 64, ToolOutputTokens: 20, CompletionTokens: 12, DroppedParts: 2,
		TruncatedTurns: 8, BrokenSpellings: 9, Rendered: exchange.RenderReport{Asked: true, Failed: true, Time: 3},
		Prefill: exchange.PrefillReport{Pool: "readers of " + model, Result: exchange.PrefillDone, Time: 30},
		Tally: translate.Tally{Reasoning: 5, Preamble: 2, Final: 4, ToolCall: 3, Calls: 1, UnfitArguments: 1, NoFinal: 2,
			IncompleteBuiltIns: 4, AfterCalls: 5}, Fallbacks: 3,
		Refused: harmony.ExpectedStart, ReasoningAlert: true, UnexpectedOrder: true, FirstToken: 250,
		Finish:   exchange.FinishToolCalls,
		Missed:   segments.Missed{Reason: segments.Reason(segments.Tools), Tokens: 48},
		EarlyEnd: exchange.EarlyCall, WastedTokens: 7, Cut: exchange.CutServer,
	}
	for i := range r.Messages {
		r.Messages[i] = i + 1
	}
	for i := range r.Ignored {
		r.Ignored[i] = i + 1
	}
	for i := range r.Recoveries {
		r.Recoveries[i] = uint32(i + 1)
	}
	return r
}

// TestCounts holds the names and counts of a few reports against testdata/counts.txt.
func TestCounts(t *testing.T) {
	k := &recordingHost{maxMetrics: 1000}
	s := NewSet(k)
	s.Configured("v1.2", "0a0b0c0d", modelsNamed("gpt-oss-120b", "openai/gpt-oss-20b:v1.5"))
	s.Count(fullReport("gpt-oss-120b"), 200)
	s.Count(fullReport("gpt-oss-120b"), 200)
	s.Count(fullReport("openai/gpt-oss-20b:v1.5"), 502)
	s.Count(&exchange.Report{API: "responses", Model: "gpt-oss-120b"}, 400)
	s.Count(&exchange.Report{API: "responses", Model: "gpt-oss-120b", Routed: true}, 200)
	s.Count(&exchange.Report{API: "chat", Model: "gpt-oss-120b", Untranslated: true}, 200)
	observed := &exchange.Report{API: "chat", Model: "gpt-oss-120b", Untranslated: true, ObservedPrompt: 70,
		ServersPrompt: 68}
	for i := range observed.Observed {
		observed.Observed[i] = i + 1
	}
	s.Count(observed, 200)
	s.Count(&exchange.Report{API: "completions"}, 418)
	for _, result := range prefillResults {
		s.Count(&exchange.Report{API: "tokens", Prefill: exchange.PrefillReport{Pool: "readers of gpt-oss-120b",
			Result: result, Time: -1}}, 200)
	}
	s.Count(&exchange.Report{API: "tokens", Prefill: exchange.PrefillReport{Pool: "before",
		Result: exchange.PrefillFailed}}, 503)
	for _, status := range []int{0, 101, 302, 429, 599} {
		s.Count(&exchange.Report{API: "tokens", Pool: "pool of gpt-oss-120b", Policy: contract.PolicySession}, status)
	}
	s.Count(&exchange.Report{API: "tokens", Pool: "pool of gpt-oss-120b", Policy: "before"}, 200)
	s.Count(&exchange.Report{API: "chat", Model: "not configured"}, 0)
	for _, status := range []int{200, 0, 503} { // the client got an answer, has left, got an error
		s.Count(&exchange.Report{API: "tokens", Pool: "pool of gpt-oss-120b", Policy: contract.PolicySession,
			FailedEarly: true}, status)
	}
	// Of a model's several pools each has series of its own.
	for _, route := range []string{"short of gpt-oss-120b;why=class", "short of gpt-oss-120b;why=length;spare=x",
		"pool of gpt-oss-120b;why=default", "pool of gpt-oss-120b;why=context;model=gpt-oss-120b", "gone;why=length"} {
		pool, _ := contract.ParseRoute(route)
		s.Count(&exchange.Report{API: "tokens", Model: "gpt-oss-120b", Pool: pool, Policy: contract.PolicySession,
			Route: route}, 200)
	}
	// Nothing came: nothing is recorded that would be a lie.
	s.Count(&exchange.Report{API: "chat", Model: "gpt-oss-120b", Translated: true, FirstToken: -1}, 503)
	s.ResponseChunk()
	s.ResponseChunk()
	s.FlushChunks()
	s.FlushChunks()
	s.EditRefused()
	s.ConfigError()
	s.ReducedReset()
	s.ReducedLateError()
	s.Rendered(123)
	s.Collected(456)
	s.Heap(1 << 20)
	s.HeapLimit(1 << 28)
	s.Configured("v1.2", "11111111", nil)
	s.Configured("v1.2", "0a0b0c0d", nil)
	s.Dropped("v1.2", "0a0b0c0d")
	s.Dropped("v1.2", "0a0b0c0d")
	const file = "testdata/counts.txt"
	if *update {
		if err := os.WriteFile(file, []byte(k.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := k.String(); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A histogram of Prometheus' has a series for each bucket, one for what is above them, a sum and a count.
const (
	maxBuckets      = 20
	histogramSeries = maxBuckets + 3
)

// TestBounded: more models and statuses than anybody has, over and over, are less than 2,900 series.
func TestBounded(t *testing.T) {
	k := &recordingHost{maxMetrics: 1 << 20, refusesValues: true}
	s := NewSet(k)
	for round := range 2 {
		var models []string
		for i := range 3 * MaxModels {
			models = append(models, fmt.Sprintf("model-%d-%d", round, i))
		}
		s.Configured("v", fmt.Sprint(round), modelsNamed(models...))
		for _, m := range append(models, "unknown") {
			for reason := range segments.Reasons {
				r := fullReport(m)
				r.Missed.Reason = segments.Reason(reason)
				s.Count(r, 200)
			}
			for _, api := range apis {
				for i, status := range append(statuses[:], 100, 418, 599) {
					r := fullReport(m)
					r.API, r.Refused, r.EarlyEnd = api, harmony.ParseErrorKind(i%harmony.ParseErrorKinds), earlyEnds[i%len(earlyEnds)]
					r.Cut, r.RoutedBy = cuts[i%len(cuts)], affinities[i%len(affinities)]
					r.Prefill.Result, r.Recall = prefillResults[i%len(prefillResults)], recalls[i%len(recalls)]
					r.Route = contract.RouteValue([]string{"short", "pool"}[i%2]+" of "+m, routeReasons[i/2%len(routeReasons)])
					r.Untranslated, r.ObservedPrompt, r.ServersPrompt = true, 1, 1
					for kind := range r.Observed {
						r.Observed[kind] = 1
					}
					s.Count(r, status)
				}
			}
		}
	}
	series := 0
	for _, kind := range k.kinds {
		if kind == contract.Histogram {
			series += histogramSeries
		} else {
			series++
		}
	}
	// Further configurations have a series each, up to the bound.
	series += maxBuilds - len(s.builds)
	if t.Logf("%d series", series); series > 2900 {
		t.Errorf("%d series", series)
	}
	before := len(k.kinds)
	for i := range 3 * contract.MaxCountedClients {
		name := fmt.Sprintf("client-%d", i)
		s.Counted([]string{name})
		for reason := range segments.Reasons {
			r := fullReport("unknown")
			r.Client, r.Missed.Reason = name, segments.Reason(reason)
			s.Count(r, 200)
		}
		for _, status := range []int{0, 200, 429} {
			r := fullReport("unknown")
			r.Client = name
			s.Count(r, status)
		}
	}
	if more := len(k.kinds) - before; more != (4+missReasons)*(contract.MaxCountedClients+1) {
		t.Errorf("%d series of clients", more)
	}
	for _, name := range []string{"model-0-27.api", "model.other.api", "model-0-27.policy.session.class.2xx",
		"pool.other.policy.other.class.none"} {
		if !strings.Contains(k.String(), name) {
			t.Errorf("%s is not there", name)
		}
	}
	if strings.Contains(k.String(), "model-0-28.") || strings.Contains(k.String(), "model-1-") {
		t.Error("a model over the limit has series of its own")
	}
}

// TestRefused: a host without room is asked once for each metric, and nothing ends by it.
func TestRefused(t *testing.T) {
	k := &recordingHost{maxMetrics: 12}
	s := NewSet(k)
	s.Configured("v", "c", modelsNamed("m"))
	for range 3 {
		s.Count(fullReport("m"), 200)
	}
	defined := k.defined
	s.Count(fullReport("m"), 200)
	if k.defined != defined {
		t.Error("it is asked again")
	}
	if len(k.names) != k.maxMetrics {
		t.Errorf("%d metrics", len(k.names))
	}
}

// BenchmarkCount is what the end of a request costs, without the host.
func BenchmarkCount(b *testing.B) {
	s := NewSet(&nullHost{})
	s.Configured("v", "c", modelsNamed("m"))
	r := fullReport("m")
	b.ReportAllocs()
	for b.Loop() {
		s.Count(r, 200)
	}
}

type nullHost struct{ n uint32 }

func (s *nullHost) Define(contract.MetricKind, string) (uint32, bool) { s.n++; return s.n, true }
func (s *nullHost) Add(uint32, int64)                                 {}
func (s *nullHost) Record(uint32, uint64)                             {}
