package credential

import (
	"os"
	"slices"
	"sync"
	"time"
)

// lookAgain is how seldom it is looked whether files are others.
const lookAgain = time.Second

// reread is what was read of some files, and is read anew where they were written anew since, or are others. New ones that cannot
// be used are told once, and what was read before is used until they can.
type reread[T any] struct {
	env      Env
	look     func() []os.FileInfo
	read     func() (T, error)
	tell     func(error)
	mu       sync.Mutex
	is       T
	looked   time.Time
	was      []os.FileInfo
	doubtful bool // the files could not be used, and may have been seen half written
	told     bool
}

// newReread reads for the first time. What look finds the files to be tells whether they were written anew.
func newReread[T any](env Env, look func() []os.FileInfo, read func() (T, error), tell func(error)) (r *reread[T], err error) {
	r = &reread[T]{env: env, look: look, read: read, tell: tell, looked: env.now(), was: look()}
	r.is, err = read()
	return r, err
}

// lookAt finds what files are, nil for one that is not there.
func lookAt(files ...string) func() []os.FileInfo {
	return func() []os.FileInfo {
		list := make([]os.FileInfo, len(files))
		for i, name := range files {
			list[i], _ = os.Stat(name)
		}
		return list
	}
}

// same tells whether a file is as it was.
func same(is, was os.FileInfo) bool {
	if is == nil || was == nil {
		return is == was
	}
	return os.SameFile(is, was) && is.Name() == was.Name() && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime())
}

// current is what there is now.
func (r *reread[T]) current() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.env.now()
	if now.Sub(r.looked).Abs() < lookAgain {
		return r.is
	}
	r.looked = now
	is := r.look()
	changed := !slices.EqualFunc(is, r.was, same)
	if !changed && !r.doubtful {
		return r.is
	}
	newer, err := r.read()
	switch {
	case err == nil:
		r.is, r.told = newer, false
	case !changed && !r.told:
		r.told = true
		r.tell(err)
	}
	r.was, r.doubtful = is, err != nil
	return r.is
}
