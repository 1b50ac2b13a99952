package catalog

import "sync"

// itemCache keeps rows of base blobs for those who only read them: who takes or
// renews a lease would else spend most of the time on looking the blob up.
//
// Whoever may change a blob has its lock alone, and forgets it here on entering
// (lockBlob); while that lock is held nobody can put it back.
type itemCache struct {
	mu         sync.Mutex
	young, old map[string]cachedItem // by path
}

type cachedItem struct {
	container int64 // a new container of the same name has another number
	item      *Item
}

// generation is how many items are kept before those that nobody has asked for
// since the last such moment are forgotten.
const generation = 1000

func (k *itemCache) get(path string, container int64) *Item {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.young[path]
	if !ok {
		if found, ok = k.old[path]; ok {
			k.add(path, found)
		}
	}
	if !ok || found.container != container {
		return nil
	}
	return found.item
}

func (k *itemCache) put(path string, container int64, i *Item) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.add(path, cachedItem{container, i})
}

func (k *itemCache) add(path string, c cachedItem) {
	if k.young == nil || len(k.young) >= generation {
		k.young, k.old = map[string]cachedItem{}, k.young
	}
	k.young[path] = c
}

func (k *itemCache) forget(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.young, path)
	delete(k.old, path)
}

// lockBlob takes the blob's lock for itself alone.
func (c *Catalog) lockBlob(path string) (unlock func()) {
	unlock = c.blobLocks.lock(path)
	c.items.forget(path)
	return unlock
}
