package remote

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// TestUnansweredRequests: a server that opens a channel and answers nothing that is
// asked on it costs the time that there is, and no more.
func TestUnansweredRequests(t *testing.T) {
	d := newSSHD(t)
	d.requests(func(*ssh.Request) bool { return true })
	m := d.open(d.home()).Machine
	for what, do := range map[string]func(ctx context.Context) error{
		"a command": func(ctx context.Context) error { return m.Run(ctx, []string{"true"}, nil, io.Discard) },
		"files":     func(ctx context.Context) error { _, err := m.Files(ctx); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		done := make(chan error, 1)
		go func() { done <- do(ctx) }()
		select {
		case err := <-done:
			if err == nil || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(15 * time.Second):
			t.Errorf("%s: waited for without end", what)
		}
		cancel()
	}
}
