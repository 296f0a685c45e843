package server

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// BenchmarkBuild measures a change of one server, with 20 models on 200 servers, with ten times as many, and with 10,000
// servers of one model:
//
//	go test -run '^$' -bench Build -count 10 ./controlplane/server | tee new.txt; benchstat old.txt new.txt
func BenchmarkBuild(b *testing.B) {
	for _, size := range []struct{ models, servers int }{{20, 10}, {200, 10}, {1, 10_000}} {
		models := size.models
		b.Run(fmt.Sprintf("%dx%d", models, size.servers), func(b *testing.B) {
			var text strings.Builder
			text.WriteString("models:\n")
			for i := range models {
				fmt.Fprintf(&text, "- name: m%d\n  pool: p%d\n", i, i)
			}
			text.WriteString("pools:\n")
			for i := range models {
				fmt.Fprintf(&text, "- name: p%d\n  capacity: 64\n  servers:\n", i)
				for j := range size.servers {
					fmt.Fprintf(&text, "  - http://10.%d.%d.%d:8000\n", i, j/200, j%200)
				}
			}
			c, err := config.Parse("bench", []byte(text.String()))
			if err != nil {
				b.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			s, err := New(Options{ADS: l, ModulePath: "/f.wasm"})
			if err != nil {
				b.Fatal(err)
			}
			s.pools = pools.New(pools.Options{ReadyInterval: time.Hour})
			defer s.pools.Close()
			resolved, err := c.Resolve()
			if err != nil {
				b.Fatal(err)
			}
			one := &configuration{Resolved: resolved}
			var watched []pools.Pool
			for _, p := range one.watchedPools() {
				p.Models = nil
				watched = append(watched, p)
			}
			if err := s.pools.Set(watched); err != nil {
				b.Fatal(err)
			}
			var r ads.Resources
			b.Run("build", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if r, err = s.build(one); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("endpoints", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err = xds.Endpoints(resolved, s.xdsOptions(one)); err != nil {
						b.Fatal(err)
					}
				}
			})
			s.current, s.latest = one, r
			b.Run("conditions", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.updateConditions()
				}
			})
			b.Run("set", func(b *testing.B) {
				other, err := s.build(one) // the same, and made anew: what is passed again is not looked at again
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err = s.ads.Set(r); err != nil {
						b.Fatal(err)
					}
					r, other = other, r
				}
			})
			b.Run("weights of all", func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					all := maps.Clone(r)
					all[resource.EndpointType] = xds.Weigh(resolved, r[resource.EndpointType], func(string) bool { return true },
						func(_ string, a netip.AddrPort) uint32 { return uint32(1 + (i+int(a.Port()))%100) })
					if changed, err := s.ads.Set(all); err != nil || changed {
						b.Fatal(changed, err)
					}
				}
			})
		})
	}
}
