package environment

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A signal in the middle of a message to a pipe cuts none: a job of many arguments would not be started.
func TestMessagesThatASignalInterrupts(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	whole := bytes.Repeat([]byte("argument "), 40<<10)
	thread, done := make(chan int, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		thread <- unix.Gettid()
		n, err := fd(w.Fd()).Write(whole)
		if err == nil && n != len(whole) {
			err = io.ErrShortWrite
		}
		w.Close()
		done <- err
	}()
	id := <-thread
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // until the pipe is full, and the call waits
		n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		if err != nil || time.Now().After(end) {
			t.Fatal(n, err)
		}
		if n >= 64<<10 {
			break
		}
	}
	if err := unix.Tgkill(os.Getpid(), id, unix.SIGURG); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if werr := <-done; err != nil || werr != nil || !bytes.Equal(got, whole) {
		t.Errorf("%d bytes of %d came: %v, %v", len(got), len(whole), err, werr)
	}
}
