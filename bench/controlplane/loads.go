package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/envoy"
)

// loadInterval is how often the metrics are read while loads move. With many servers it is work to answer.
const loadInterval = 5 * time.Second

// usage is what processes have used of the machine, and what was sent, from a start until an end.
type usage struct {
	planeCPU, envoysCPU   float64 // parts of one CPU
	resident, envoysAfter float64 // MiB at the end
	heapBefore, heapAfter float64 // the least MiB in use in the first and in the second half
	pushes, responses     float64 // in a minute: weights pushed, and endpoints sent to both Envoys
	samples               float64 // in a second
	saves, acceptances    float64
	leastCurrent          float64
}

// measureLoads measures what it costs to follow moving loads of all servers of a world, beside the same world where
// nobody does.
func measureLoads(o options) ([]loadRow, error) {
	port, stop, err := tellLoads(o.page)
	if err != nil {
		return nil, err
	}
	defer stop()
	var all [2]usage
	for i, weights := range []bool{false, true} {
		if all[i], err = followLoads(o, port, weights); err != nil {
			return nil, err
		}
	}
	row := func(what, unit string, value func(*usage) float64) loadRow {
		return loadRow{what, unit, [2]float64{value(&all[0]), value(&all[1])}}
	}
	return []loadRow{
		row("samples of loads, in a second", "", func(u *usage) float64 { return u.samples }),
		row("pushes of weights, in a minute", "", func(u *usage) float64 { return u.pushes }),
		row("    responses with endpoints to both Envoys, in a minute", "", func(u *usage) float64 { return u.responses }),
		row("pushes that count in push-to-accept, all the time", "", func(u *usage) float64 { return u.acceptances }),
		row("snapshots saved, all the time", "", func(u *usage) float64 { return u.saves }),
		row("the fewest of both Envoys that were current", "", func(u *usage) float64 { return u.leastCurrent }),
		row("CPU of the control plane", "%", func(u *usage) float64 { return 100 * u.planeCPU }),
		row("CPU of both Envoys together", "%", func(u *usage) float64 { return 100 * u.envoysCPU }),
		row("memory: heap of the control plane, at least, first half", "MiB",
			func(u *usage) float64 { return u.heapBefore }),
		row("    second half", "MiB", func(u *usage) float64 { return u.heapAfter }),
		row("memory: resident, the control plane", "MiB", func(u *usage) float64 { return u.resident }),
		row("memory: resident, both Envoys together", "MiB", func(u *usage) float64 { return u.envoysAfter }),
	}, nil
}

// loadRow is one measured quantity, without weights and with them.
type loadRow struct {
	what, unit string
	values     [2]float64
}

// followLoads runs a control plane and its Envoys for some time.
func followLoads(o options, port int, weights bool) (u usage, err error) {
	w := &world{models: o.loadModels, servers: o.loadServers, told: port, weights: weights}
	p, err := startPlane(w, loadInterval, o.workers)
	if err != nil {
		return u, err
	}
	defer p.stop()
	// The first quarter is for connections and first samples.
	time.Sleep(o.loadTime / 4)
	before, err := p.read()
	if err != nil {
		return u, err
	}
	began, envoysBefore := time.Now(), p.envoysCPU()
	u.leastCurrent = envoys
	u.heapBefore, u.heapAfter = math.Inf(1), math.Inf(1)
	after := before
	for time.Since(began) < o.loadTime {
		time.Sleep(p.interval)
		if after, err = p.read(); err != nil {
			return u, err
		}
		// Between two collections the heap has what nobody needs any more.
		heap := after["go_memstats_heap_inuse_bytes"] / mebibyte
		if time.Since(began) < o.loadTime/2 {
			u.heapBefore = min(u.heapBefore, heap)
		} else {
			u.heapAfter = min(u.heapAfter, heap)
		}
		u.leastCurrent = min(u.leastCurrent, after["harmony_controlplane_envoys_current"])
	}
	passed := time.Since(began).Seconds()
	gain := func(name string) float64 { return after[name] - before[name] }
	u.planeCPU = gain("process_cpu_seconds_total") / passed
	u.envoysCPU = (p.envoysCPU() - envoysBefore) / passed
	u.resident = after["process_resident_memory_bytes"] / mebibyte
	u.pushes = gain("harmony_controlplane_weight_pushes_total") / passed * 60
	u.responses = gain(`harmony_controlplane_pushes_total{type="endpoints"}`) / passed * 60
	u.samples = gain(`harmony_controlplane_load_samples_total{result="ok"}`) / passed
	u.saves = gain(`harmony_controlplane_snapshot_saves_total{result="ok"}`)
	u.acceptances = gain(accepted + "_count")
	if failed := gain(`harmony_controlplane_load_samples_total{result="failed"}`); failed > 0 {
		fmt.Fprintf(os.Stderr, "%.0f samples of loads failed\n", failed)
	}
	for _, e := range p.envoys {
		u.envoysAfter += residentOf(e)
	}
	return u, nil
}

// envoysCPU returns the seconds of CPU that the Envoys have used.
func (p *plane) envoysCPU() (seconds float64) {
	for _, e := range p.envoys {
		// The fields after the command's name, of which the 12th and the 13th are user and system time in hundredths.
		_, rest, _ := strings.Cut(procFile(e, "stat"), ") ")
		if fields := strings.Fields(rest); len(fields) > 12 {
			for _, text := range fields[11:13] {
				n, _ := strconv.ParseFloat(text, 64)
				seconds += n / 100
			}
		}
	}
	return seconds
}

// residentOf returns the resident memory of an Envoy in MiB.
func residentOf(e *envoy.Process) float64 {
	if fields := strings.Fields(procFile(e, "statm")); len(fields) > 1 {
		pages, _ := strconv.ParseFloat(fields[1], 64)
		return pages * float64(os.Getpagesize()) / mebibyte
	}
	return 0
}

func procFile(e *envoy.Process, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", e.PID(), name))
	return string(text)
}

type addressKey struct{}

// tellLoads serves pages of metrics of so many bytes at every loopback address, each with a load of its own that moves.
func tellLoads(size int) (port int, stop func(), err error) {
	listener := net.ListenConfig{Control: loopbackOnly}
	l, err := listener.Listen(context.Background(), "tcp4", "0.0.0.0:0")
	if err != nil {
		return 0, nil, err
	}
	const other = "vllm:inter_token_latency_seconds_bucket{engine=\"0\",le=\"0.025\",model_name=\"m\"} 812.0\n"
	rest := []byte(strings.Repeat(other, size/len(other)))
	s := &http.Server{ReadHeaderTimeout: limit, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, addressKey{}, c.LocalAddr().(*net.TCPAddr).IP.To4())
	}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running, waiting := loadAt(r.Context().Value(addressKey{}).(net.IP), time.Now())
		fmt.Fprintf(w, "vllm:num_requests_running{engine=\"0\"} %d\nvllm:num_requests_waiting{engine=\"0\"} %d\n"+
			"vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\n", running, waiting)
		_, _ = w.Write(rest)
	})}
	go func() { _ = s.Serve(l) }()
	return l.Addr().(*net.TCPAddr).Port, func() { _ = s.Close() }, nil
}

// loadAt returns the load of the server at an address: it rises and falls in two minutes, with noise, and one of 50 has
// much more to do than the others.
func loadAt(ip net.IP, now time.Time) (running, waiting int) {
	server := binary.BigEndian.Uint32(ip)
	turn := 2 * math.Pi * (now.Sub(time.Unix(0, 0)).Seconds()/120 + float64(server%97)/97)
	h := fnv.New32a()
	_ = binary.Write(h, binary.BigEndian, [2]int64{int64(server), now.Unix() / 2})
	running = int(40+20*math.Sin(turn)) + int(h.Sum32()%13)
	if server%50 == 0 {
		waiting = 40
	}
	return running, waiting
}
