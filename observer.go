package leasehold

import "sync"

// observer hands events to the hook, in order, on one goroutine that lives only
// while there are any.
type observer struct {
	hook func(Event)
	run  func(func()) // starts a goroutine that Close waits for

	mu      sync.Mutex
	queue   []Event
	running bool
}

// mostBehind is how many events may wait before the frequent kinds are left
// out. A lease has at most one each of the others, so the queue is bounded.
const mostBehind = 8192

// tell queues the event. It never blocks and may be called with locks held.
func (o *observer) tell(e Event) {
	if o.hook == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) >= mostBehind && frequent(e) {
		return
	}
	o.queue = append(o.queue, e)
	if !o.running {
		o.running = true
		o.run(o.drain)
	}
}

func frequent(e Event) bool {
	switch e.(type) {
	case Renewed, RenewalFailed:
		return true
	}
	return false
}

// drain calls the hook until nothing waits. It takes the events by the batch,
// so that telling and observing seldom meet at the lock; what it has taken and
// not yet handed over does not count as waiting.
func (o *observer) drain() {
	for {
		o.mu.Lock()
		batch := o.queue
		o.queue = nil
		o.running = len(batch) > 0
		o.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, e := range batch {
			o.hook(e)
		}
	}
}
