package wasmhost

import (
	"slices"
	"sync"
)

// shared is what all VMs of a plugin have in common: data with compare-and-swap, and queues.
type shared struct {
	mu      sync.Mutex
	data    map[string]sharedValue
	nextCAS uint32
	queues  []*queue
}

type sharedValue struct {
	value []byte
	cas   uint32
}

// queue belongs to the worker that registered it. That worker's filter is called when an item arrives.
type queue struct {
	vmID, name string
	owner      *Worker
	waiting    [][]byte
}

func getSharedData(v *vm, a []uint64) Status {
	key, ok := v.readString(a[0], a[1])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	s := &v.worker.host.shared
	s.mu.Lock()
	value, ok := s.data[key]
	s.mu.Unlock()
	if !ok {
		return StatusNotFound
	}
	if status := v.writeNew(value.value, a[2], a[3]); status != StatusOK {
		return status
	}
	return v.writeUint32(value.cas, a[4])
}

// setSharedData sets a value if its CAS number is still the one that the filter has read. The number 0 sets it in any
// case.
func setSharedData(v *vm, a []uint64) Status {
	key, ok1 := v.readString(a[0], a[1])
	value, ok2 := v.read(a[2], a[3])
	if !ok1 || !ok2 {
		return StatusInvalidMemoryAccess
	}
	s := &v.worker.host.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data == nil {
		s.data = map[string]sharedValue{}
	}
	if old, found := s.data[key]; found && uint32(a[4]) != 0 && uint32(a[4]) != old.cas {
		return StatusCASMismatch
	}
	s.nextCAS++
	s.data[key] = sharedValue{value, s.nextCAS}
	return StatusOK
}

func (s *shared) find(vmID, name string) uint32 {
	at := slices.IndexFunc(s.queues, func(q *queue) bool { return q.vmID == vmID && q.name == name })
	return uint32(at + 1)
}

func registerQueue(v *vm, a []uint64) Status {
	name, ok := v.readString(a[0], a[1])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	h := v.worker.host
	h.shared.mu.Lock()
	id := h.shared.find(h.plugin.VMID, name)
	if id == 0 {
		h.shared.queues = append(h.shared.queues, &queue{vmID: h.plugin.VMID, name: name, owner: v.worker})
		id = uint32(len(h.shared.queues))
	}
	h.shared.mu.Unlock()
	return v.writeUint32(id, a[2])
}

func resolveQueue(v *vm, a []uint64) Status {
	vmID, ok1 := v.readString(a[0], a[1])
	name, ok2 := v.readString(a[2], a[3])
	if !ok1 || !ok2 {
		return StatusInvalidMemoryAccess
	}
	s := &v.worker.host.shared
	s.mu.Lock()
	id := s.find(vmID, name)
	s.mu.Unlock()
	if id == 0 {
		return StatusNotFound
	}
	return v.writeUint32(id, a[4])
}

func (s *shared) queue(id uint32) *queue {
	if id == 0 || int(id) > len(s.queues) {
		return nil
	}
	return s.queues[id-1]
}

func enqueue(v *vm, a []uint64) Status {
	value, ok := v.read(a[1], a[2])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	s := &v.worker.host.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queue(uint32(a[0]))
	if q == nil {
		return StatusNotFound
	}
	q.waiting = append(q.waiting, value)
	owner, id := q.owner, a[0]
	// The callback runs in a goroutine of its own, because a filter may enqueue during a queue callback.
	h := v.worker.host
	v.worker.afterUnlock = append(v.worker.afterUnlock, func() {
		h.running.Go(func() {
			owner.enter()
			defer owner.leave()
			if owner.vm != nil && !owner.closed {
				owner.vm.call(nil, "proxy_on_queue_ready", rootID, id)
			}
		})
	})
	return StatusOK
}

func dequeue(v *vm, a []uint64) Status {
	s := &v.worker.host.shared
	s.mu.Lock()
	q := s.queue(uint32(a[0]))
	if q == nil {
		s.mu.Unlock()
		return StatusNotFound
	}
	if len(q.waiting) == 0 {
		s.mu.Unlock()
		return StatusEmpty
	}
	value := q.waiting[0]
	q.waiting = q.waiting[1:]
	s.mu.Unlock()
	return v.writeNew(value, a[1], a[2])
}
