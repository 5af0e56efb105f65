package remote

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// TestServersThatTalkMeanwhile: a server that says without end what is of no use, while it is waited for, is given up at once;
// one whose answer is long, or comes in small packets, is not.
func TestServersThatTalkMeanwhile(t *testing.T) {
	block := strings.Repeat("x", 16<<10)
	for name, say := range map[string]func(ch ssh.Channel) error{
		"complaints": func(ch ssh.Channel) error { _, err := io.WriteString(ch.Stderr(), block); return err },
		"requests":   func(ch ssh.Channel) error { _, err := ch.SendRequest("what", false, []byte(block)); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newSSHD(t)
			d.answers(func(_ string, ch ssh.Channel) bool {
				go func() {
					for say(ch) == nil {
						time.Sleep(100 * time.Microsecond)
					}
				}()
				return true
			})
			s := d.open(d.home())
			s.Options.Command = 2 * time.Second
			if _, err := s.Command(t.Context(), "true"); !errors.Is(err, errTooLong) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("small packets", func(t *testing.T) {
		t.Parallel()
		d := newSSHD(t)
		d.answers(func(_ string, ch ssh.Channel) bool {
			for range 20_000 {
				_, _ = io.WriteString(ch, "1234567\n")
			}
			_, _ = ch.SendRequest("exit-status", false, make([]byte, 4))
			ch.Close()
			return true
		})
		s := d.open(d.home())
		for range 2 {
			if text, err := s.Command(t.Context(), "true"); err != nil || len(text) != 160_000 {
				t.Errorf("%d bytes, %v", len(text), err)
			}
		}
	})
}
