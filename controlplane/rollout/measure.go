package rollout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const (
	// certain is how improbable a difference must be to be taken for one, if the filters were the same. An Envoy is looked
	// at each 5 seconds, so it must be far smaller than for one look.
	certain = 1e-4
	// certainOfVMs is the same for VMs that die, which VMs of a filter that works never do, and for Envoys that restart.
	certainOfVMs = 1e-3
	// doubtful is the same for a difference that has to be watched for longer.
	doubtful = 0.05
	// times is by how much a rate must be greater than the others'.
	times = 1.5
	// fewest is how many events are too few to tell a difference.
	fewest = 5
	// fewestVMs is the same for VMs that die and Envoys that restart.
	fewestVMs = 3
	// slower is by how much longer a request must take than nine of ten others to be slow.
	slower = 2
	// usual is the part of requests up to whose time requests are not slow.
	usual = 0.9
)

// measure is something by which the new filter may be worse.
type measure struct {
	name string
	// events and of give the rate that is compared: so many events, of so many occasions.
	events func(*Counts) float64
	of     Count
	unit   string // what is counted, for people
	most   float64
	// besideOnly reports whether it depends on servers and clients so much that only Envoys at the same time compare.
	besideOnly bool
	// never reports whether a good filter never has these, so that they count even where there is nothing to compare
	// with.
	never   bool
	fewest  float64
	certain float64
}

func count(n Count) func(*Counts) float64 { return func(c *Counts) float64 { return c.N[n] } }

// slowMeasure is the name of the measure of times.
const slowMeasure = "slow"

// measures are all of them, in the order in which they are shown. most is the default of a rule: by how much a rate may
// be greater than the others'.
var measures = []measure{
	{name: "errors", events: count(Errors), of: Requests, unit: "answers with 5xx, of requests", most: 0.005,
		besideOnly: true},
	{name: "gateway_errors", events: gatewayErrors, of: Requests, unit: "5xx of the gateway's own, of requests",
		most: 0.002, never: true},
	{name: "vm_failures", events: count(VMFailures), of: Requests, unit: "VMs that died, of requests", most: 0.0001,
		never: true, fewest: fewestVMs, certain: certainOfVMs},
	{name: "restarts", events: count(Restarts), of: Requests, unit: "Envoys that started again, of requests", most: 0.0001,
		besideOnly: true, fewest: fewestVMs, certain: certainOfVMs},
	{name: "refused", events: count(Refused), of: Requests, unit: "answers with 4xx, of requests", most: 0.05,
		besideOnly: true},
	{name: "cut_streams", events: count(CutStreams), of: Answers, unit: "cut answers, of answers", most: 0.01,
		besideOnly: true},
	{name: "parse_errors", events: count(ParseErrors), of: Answers,
		unit: "answers that a strict parser would have refused", most: 0.02},
	{name: "recoveries", events: count(Recoveries), of: Answers, unit: "repairs, of answers", most: 0.05},
	{name: slowMeasure, of: Requests, unit: "requests that took the filter twice the usual time, of those rendered",
		most: 0.1},
}

// gatewayErrors are errors that are not a server's.
func gatewayErrors(c *Counts) float64 { return max(0, c.N[Errors]-c.N[ServerErrors]) }

// Rules say by how much a rate may be greater with the new filter, by the name of what is measured. A measure without a
// rule has the default. A negative rule turns a measure off.
type Rules map[string]float64

// off is the rule of a measure that does not count.
const off = -1

// ParseRules reads rules such as "errors=1%,recoveries=off".
func ParseRules(text string) (Rules, error) {
	rules := Rules{}
	if text == "" {
		return rules, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(one), "=")
		if !ok || !slices.ContainsFunc(measures, func(m measure) bool { return m.name == name }) {
			return nil, fmt.Errorf("%q is no rule; write MEASURE=PERCENT or MEASURE=off, with one of %s", one,
				strings.Join(Measures(), ", "))
		}
		if value == "off" {
			rules[name] = off
			continue
		}
		most, err := ParseShare(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rules[name] = most
	}
	return rules, nil
}

// Measures returns the names of what is measured.
func Measures() []string {
	names := make([]string, len(measures))
	for i := range measures {
		names[i] = measures[i].name
	}
	return names
}

// ParseShare reads a share such as "10%" or "0.1".
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%q is not a share from 0%% to 100%%", text)
	}
	return share, nil
}

// Beside is what the new filter was compared with.
type Beside string

const (
	// Others are the Envoys with the old filter, at the same time.
	Others Beside = "others"
	// Past is what Envoys counted with the old filter before.
	Past Beside = "past"
	// Nothing says that there is nothing to compare with.
	Nothing Beside = "nothing"
)

// Verdict is what a comparison says.
type Verdict string

const (
	// Well is a rate that is not greater than the rule allows.
	Well Verdict = "well"
	// Unclear is one that is greater, perhaps by chance.
	Unclear Verdict = "unclear"
	// Worse is one that is greater, and not by chance.
	Worse Verdict = "worse"
	// Unknown is one that nothing is known of.
	Unknown Verdict = "unknown"
)

// Finding is how the new filter compares in one measure.
type Finding struct {
	Measure string  `json:"measure"`
	What    string  `json:"what"`
	Verdict Verdict `json:"verdict"`
	// Events is how often it was, of so many occasions.
	Events float64 `json:"events"`
	Of     float64 `json:"of"`
	// Beside is what that is compared with, which has these.
	Beside       Beside  `json:"beside"`
	BesideEvents float64 `json:"beside_events"`
	BesideOf     float64 `json:"beside_of"`
	// Most is by how much the rate may be greater.
	Most float64 `json:"most"`
}

// Text says what was found, for people.
func (f *Finding) Text() string {
	side := map[Beside]string{Others: " with the old filter", Past: " with the old filter before", Nothing: ""}[f.Beside]
	text := fmt.Sprintf("%s (%s): %.0f of %.0f (%s)", f.Measure, f.What, f.Events, f.Of, rate(f.Events, f.Of))
	if f.Beside == Nothing {
		return text + ", and there is nothing to compare with"
	}
	return text + fmt.Sprintf(", and %.0f of %.0f (%s)%s", f.BesideEvents, f.BesideOf, rate(f.BesideEvents, f.BesideOf),
		side)
}

func rate(events, of float64) string {
	if of == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*events/of, 'g', 3, 64) + " %"
}

// reference is what the new filter is compared with.
type reference struct {
	beside Beside
	counts *Counts
	// each is what each Envoy of it has counted; empty where that is not known.
	each []*Counts
}

// judge compares what was counted with the new filter.
func (r Rules) judge(fresh *Counts, beside reference) []Finding {
	var all []Finding
	for i := range measures {
		m := &measures[i]
		allowed, set := r[m.name]
		if !set {
			allowed = m.most
		}
		if allowed < 0 {
			continue
		}
		all = append(all, m.judge(fresh, &beside, allowed))
	}
	return all
}

func (m *measure) judge(fresh *Counts, beside *reference, allowed float64) Finding {
	f := Finding{Measure: m.name, What: m.unit, Beside: beside.beside, Most: allowed, Verdict: Unknown}
	if beside.beside == Nothing && !m.never || beside.beside == Past && m.besideOnly {
		f.Beside = Nothing
	}
	spread := 1.0
	if m.name == slowMeasure {
		f.Events, f.Of, f.BesideEvents, f.BesideOf = slow(fresh, beside.counts)
	} else {
		f.Events, f.Of = m.events(fresh), fresh.N[m.of]
		f.BesideEvents, f.BesideOf = m.events(beside.counts), beside.counts.N[m.of]
		spread = m.spread(beside.each)
	}
	if f.Beside == Nothing {
		f.BesideEvents, f.BesideOf = 0, 0
		if !m.never {
			return f
		}
	}
	if f.Of == 0 {
		return f
	}
	f.Verdict = f.verdict(spread, cmp.Or(m.fewest, fewest), cmp.Or(m.certain, certain))
	return f
}

// verdict compares the rates. spread is how much more Envoys differ than by chance.
func (f *Finding) verdict(spread, least, sure float64) Verdict {
	besideEvents, besideOf := f.BesideEvents, f.BesideOf
	if f.Beside == Nothing {
		besideEvents, besideOf = 0, f.Of // as if as many occasions had gone well
	}
	if besideOf == 0 {
		return Unknown
	}
	here, there := f.Events/f.Of, besideEvents/besideOf
	if here-there <= f.Most || here <= times*there {
		return Well
	}
	chance := tail(f.Events/spread, (f.Events+besideEvents)/spread, f.Of/(f.Of+besideOf))
	switch {
	case chance < sure && f.Events >= least:
		return Worse
	case chance < doubtful:
		return Unclear
	}
	return Well
}

// fewestEnvoys and fewestOf are how many Envoys, with how many occasions each, tell how much Envoys differ.
const (
	fewestEnvoys = 3
	fewestOf     = 30
)

// spread returns how much more Envoys with the same filter differ from each other than chance would have it, as the
// variance of their counts. It is at least 1. Some Envoys may have other clients than the rest.
func (m *measure) spread(each []*Counts) float64 {
	events, of, n := 0.0, 0.0, 0
	for _, c := range each {
		if c.N[m.of] >= fewestOf {
			events, of, n = events+m.events(c), of+c.N[m.of], n+1
		}
	}
	if n < fewestEnvoys || events == 0 {
		return 1
	}
	chi2 := 0.0
	for _, c := range each {
		if c.N[m.of] >= fewestOf {
			expected := events * c.N[m.of] / of
			chi2 += (m.events(c) - expected) * (m.events(c) - expected) / expected
		}
	}
	return math.Max(1, chi2/float64(n-1))
}

// slow returns how many requests took the filter longer than is usual beside it, here and there.
func slow(fresh, beside *Counts) (events, of, besideEvents, besideOf float64) {
	bounds := contract.RenderTime.Buckets()
	for _, n := range beside.Renders {
		besideOf += n
	}
	bound, sum := 0.0, 0.0
	for i, n := range beside.Renders {
		if sum += n; sum >= usual*besideOf {
			if i >= len(bounds) {
				return 0, 0, 0, 0 // all are in the last bucket, which has no bound
			}
			bound = slower * bounds[i]
			break
		}
	}
	for i := range beside.Renders {
		of += fresh.Renders[i]
		if i > 0 && i-1 < len(bounds) && bounds[i-1] >= bound {
			events, besideEvents = events+fresh.Renders[i], besideEvents+beside.Renders[i]
		}
	}
	return events, of, besideEvents, besideOf
}
