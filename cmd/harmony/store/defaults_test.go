package store

import (
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// TestDefaults compares the defaults that operators read with the service's own.
func TestDefaults(t *testing.T) {
	size := func(n config.Size) any { return n.String() }
	want := map[string]any{
		"retention": settings.DefaultRetention, "event_retention": settings.DefaultEventRetention,
		"background": settings.DefaultBackground, "max_requests": settings.DefaultInFlight,
		"memory_limit": size(settings.DefaultMemory), "max_connections": store.DefaultMaxConnections,
		"tools.rounds": hosted.DefaultRounds, "tools.time": hosted.DefaultTime, "tools.call_time": hosted.DefaultCallTime,
		"tools.result_limit": size(hosted.DefaultResult), "tools.parallel": hosted.DefaultParallel,
	}
	presets := map[string]any{}
	for _, s := range config.Settings() {
		presets[s.Path] = s.Preset
	}
	for path, service := range want {
		operators := presets["responses_service."+path]
		if lasts, ok := service.(time.Duration); ok {
			var d config.Duration
			if err := d.Set(operators.(string)); err != nil {
				t.Fatal(err)
			}
			service, operators = lasts, time.Duration(d)
		}
		if service != operators {
			t.Errorf("%s: operators read %v, and the service has %v", path, operators, service)
		}
	}
}
