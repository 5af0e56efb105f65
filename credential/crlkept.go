package credential

import (
	"os"
	"sync"
	"time"
)

// Of lists that were read no more than so many bytes are kept: one that is as large as any may be.
// Files that were written so little ago may be written again within the same moment of their file system's clock.
const (
	maxKeptLists = maxCRL
	unsettled    = 2 * time.Second
)

// keptLists are revocation lists as long as their files are the same: whoever looks at each connection and each request
// would read a list of a million entries, and check its signature, for each of them.
type keptLists struct {
	mu   sync.Mutex // held while one is read: no two large ones are at once
	of   map[string]keptList
	size int64 // of their files together
}

type keptList struct {
	is   os.FileInfo
	list *crl
}

// lists are an authority's.
func (k *keptLists) lists(a *authority) ([]crlFile, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return a.listsBy(k.read)
}

// read gives a list that is kept, or reads it.
func (k *keptLists) read(file string) (*crl, error) {
	is, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	had, ok := k.of[file]
	if ok && same(is, had.is) {
		return had.list, nil
	}
	if ok {
		delete(k.of, file)
		k.size -= had.is.Size()
	}
	list, err := readCRL(file)
	if err != nil || is.Size() > maxKeptLists || time.Since(is.ModTime()) < unsettled {
		return list, err
	}
	if k.size += is.Size(); k.of == nil || k.size > maxKeptLists {
		k.of, k.size = map[string]keptList{}, is.Size()
	}
	k.of[file] = keptList{is, list}
	return list, nil
}
