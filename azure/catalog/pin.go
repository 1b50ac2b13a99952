package catalog

import "sync"

// pins keep manifests that are being read from being collected.
type pins struct {
	mu   sync.Mutex
	held map[int64]*pin
}

type pin struct {
	readers int
	wanted  bool // the collector waits for it
}

// take pins a manifest. The caller holds the blob's lock, shared or alone, and
// has read an item with that manifest under it: so whoever sees that no item
// has the manifest any more, and only then asks for pins, misses none.
func (p *pins) take(manifest int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = map[int64]*pin{}
	}
	if p.held[manifest] == nil {
		p.held[manifest] = new(pin)
	}
	p.held[manifest].readers++
}

// release lets go of one pin. It reports whether the collector waits for it.
func (p *pins) release(manifest int64) (wanted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.held[manifest]
	if k.readers--; k.readers > 0 {
		return false
	}
	delete(p.held, manifest)
	return k.wanted
}

// pinned reports whether the manifest is being read.
func (p *pins) pinned(manifest int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[manifest] != nil
}

// want is pinned for the collector: the last reader will tell it.
func (p *pins) want(manifest int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.held[manifest]
	if k == nil {
		return false
	}
	k.wanted = true
	return true
}
