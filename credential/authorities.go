package credential

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Authorities reads the CA certificates as LoadTrust does. What it returns are those to believe now: where the
// directory has others since, they are read anew. A directory that cannot be read is told once, and what was
// there before is believed until it can; nil as long as it never could.
func Authorities(env Env, opts Options, tell func(error)) func() *Trust {
	a := &authorities{env: env, opts: opts, tell: tell}
	a.current()
	return a.current
}

// authorities are those of a directory as it was read last.
type authorities struct {
	env    Env
	opts   Options
	tell   func(error)
	mu     sync.Mutex
	trust  *Trust
	looked time.Time
	was    string
	told   bool
}

func (a *authorities) current() *Trust {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.env.now()
	if !a.looked.IsZero() && now.Sub(a.looked).Abs() < lookAgain {
		return a.trust
	}
	a.looked = now
	is := listing(a.env.CertDir(a.opts))
	if is == a.was && a.trust != nil && !a.told {
		return a.trust
	}
	trust, err := LoadTrust(a.env, a.opts)
	if err == nil {
		a.trust, a.was, a.told = trust, is, false
	} else if !a.told {
		a.told = true
		a.tell(err)
	}
	return a.trust
}

// listing is what a directory of CA certificates is found to hold: by that one sees that it holds others.
func listing(dir string) string {
	var b strings.Builder
	entries, _ := os.ReadDir(dir) // none: LoadTrust says why
	for _, e := range entries {
		if !namesCA(e.Name()) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// namesCA tells whether a file is one with a CA certificate, by its name: *.0 to *.9, *.pem.
func namesCA(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".pem" || len(ext) == 2 && ext[1] >= '0' && ext[1] <= '9'
}
