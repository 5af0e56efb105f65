package credential

import (
	"os"
	"sync"
	"time"
)

// lookAgain is how seldom it is looked whether files are others.
const lookAgain = time.Second

// reread is what was read of one file or two, and is read anew where they were written anew since. New ones that cannot be used
// are told once, and what was read before is used until they can.
type reread[T any] struct {
	env      Env
	files    [2]string
	read     func() (T, error)
	tell     func(error)
	mu       sync.Mutex
	is       T
	looked   time.Time
	was      [2]os.FileInfo
	doubtful bool // the files could not be used, and may have been seen half written
	told     bool
}

// newReread reads for the first time.
func newReread[T any](env Env, files [2]string, read func() (T, error), tell func(error)) (r *reread[T], err error) {
	r = &reread[T]{env: env, files: files, read: read, tell: tell, looked: env.now(), was: look(files)}
	r.is, err = read()
	return r, err
}

// look is what files are found to be, nil where there is none: by that one sees that they were written anew.
func look(files [2]string) (list [2]os.FileInfo) {
	for i, name := range files {
		list[i], _ = os.Stat(name)
	}
	return list
}

// same tells whether a file is as it was.
func same(is, was os.FileInfo) bool {
	if is == nil || was == nil {
		return is == was
	}
	return os.SameFile(is, was) && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime())
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
	is := look(r.files)
	changed := !same(is[0], r.was[0]) || !same(is[1], r.was[1])
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
