package wasmhost

import (
	"slices"
	"sync"
)

// The kinds of metrics. They are also the low bits of a metric's id.
const (
	counter   = 0
	gauge     = 1
	histogram = 2
	kindBits  = 2
	kindMask  = 1<<kindBits - 1
)

type metric struct {
	name  string
	kind  uint32
	value uint64
}

// metrics are the metrics of all workers together.
type metrics struct {
	mu  sync.Mutex
	all []*metric
	// ids has an entry for each definition. Defining a name again gives another id for the same metric.
	ids []*metric
}

func (m *metrics) define(kind uint32, name string) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.all, func(x *metric) bool { return x.name == name && x.kind == kind })
	if at < 0 {
		at = len(m.all)
		m.all = append(m.all, &metric{name: name, kind: kind})
	}
	m.ids = append(m.ids, m.all[at])
	return uint32(len(m.ids))<<kindBits | kind
}

// with calls f with the metric of an id. It returns an error status if there is none.
func (m *metrics) with(id uint32, f func(*metric) Status) Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id&kindMask > histogram {
		return StatusBadArgument
	}
	at := int(id>>kindBits) - 1
	if at < 0 || at >= len(m.ids) || m.ids[at].kind != id&kindMask {
		return StatusNotFound
	}
	return f(m.ids[at])
}

func (m *metrics) snapshot() map[string]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]uint64, len(m.all))
	for _, x := range m.all {
		out[x.name] = x.value
	}
	return out
}

func defineMetric(v *vm, a []uint64) Status {
	name, ok := v.readString(a[1], a[2])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	if uint32(a[0]) > histogram {
		return StatusBadArgument
	}
	return v.writeUint32(v.worker.host.metrics.define(uint32(a[0]), name), a[3])
}

func incrementMetric(v *vm, a []uint64) Status {
	offset := int64(a[1])
	return v.worker.host.metrics.with(uint32(a[0]), func(m *metric) Status {
		if m.kind == histogram || m.kind == counter && offset <= 0 {
			return StatusBadArgument
		}
		m.value += uint64(offset)
		return StatusOK
	})
}

func recordMetric(v *vm, a []uint64) Status {
	return v.worker.host.metrics.with(uint32(a[0]), func(m *metric) Status {
		switch m.kind {
		case gauge:
			m.value = a[1]
		case counter:
			m.value += a[1]
		default:
			m.value++
		}
		return StatusOK
	})
}

func getMetric(v *vm, a []uint64) Status {
	var value uint64
	status := v.worker.host.metrics.with(uint32(a[0]), func(m *metric) Status {
		if m.kind == histogram {
			return StatusBadArgument
		}
		value = m.value
		return StatusOK
	})
	if status != StatusOK {
		return status
	}
	return v.writeUint64(value, a[1])
}
