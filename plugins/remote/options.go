package remote

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// Options is what sites take from outside. Only Environ and Home are needed.
type Options struct {
	Environ   []string // of the caller; local commands see a small part of it
	Home      string   // home directory: ~/.ssh, and the jobs of this machine
	Now       func() time.Time
	SSHConfig string        // default ~/.ssh/config
	Command   time.Duration // deadline of one short command; default 30 s
	Dial      time.Duration // deadline of a connection; default 15 s
}

// Defaults fills in what is not set.
func (o Options) Defaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Command == 0 {
		o.Command = 30 * time.Second
	}
	if o.Dial == 0 {
		o.Dial = 15 * time.Second
	}
	if o.SSHConfig == "" {
		o.SSHConfig = filepath.Join(o.Home, ".ssh", "config")
	}
	return o
}

// Target is where a URL leads: scheme:[/dir] to this machine,
// scheme+ssh://[user@]host[:port][/dir][?ssh=external] to another.
type Target struct {
	User, Host, Port string // Host "": this machine
	Base             string // the directory of our jobs there; "": the default
	External         bool   // use the user's own ssh command
	Nodes            Nodes  // where our program for environments is
}

// plainHost reports whether a host is a name or an address: a ProxyCommand may have it among a shell's words.
func plainHost(host string) bool {
	host = strings.Replace(host, "%", "-", 1) // before the zone of an address of IPv6
	return Plain(host) && !strings.ContainsAny(host, "/,=+@")
}

// oddInUser are the characters that ssh refuses in the name of a user, too.
func oddInUser(c rune) bool {
	return unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune("'`\"$;&<>|(){}", c)
}

// ParseURL reads a URL of a scheme, and of scheme+ssh. What its query holds
// besides ssh=, launcher= and node= is the back-end's to judge.
func ParseURL(raw, scheme string) (Target, url.Values, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Target{}, nil, err
	}
	t := Target{Base: u.Path}
	switch u.Scheme {
	case scheme:
		if u.Host != "" || u.Opaque != "" {
			return t, nil, fmt.Errorf("%s: this machine's is %s: or %s:/directory; another's is %s+ssh://host", raw, scheme, scheme, scheme)
		}
	case scheme + "+ssh":
		t.User, t.Host, t.Port = u.User.Username(), u.Hostname(), u.Port()
		if t.Host == "" || strings.HasPrefix(t.Host, "-") || strings.HasPrefix(t.User, "-") {
			return t, nil, fmt.Errorf("%s: no host; want %s+ssh://user@host[:port][/directory]", raw, scheme)
		}
		if !plainHost(t.Host) || strings.ContainsFunc(t.User, oddInUser) {
			return t, nil, fmt.Errorf("%s: a host is of letters, digits and .-_, and a user has no blanks and nothing that a shell acts on", raw)
		}
		if _, secret := u.User.Password(); secret {
			return t, nil, fmt.Errorf("%s+ssh://%s: passwords are not accepted; use a key or an agent", scheme, t.Host)
		}
	default:
		return t, nil, fmt.Errorf("%s: not a URL of %s", raw, scheme)
	}
	q := u.Query()
	if ways, ok := q["ssh"]; ok {
		way := ways[len(ways)-1]
		if t.External = way == "external"; !t.External && way != "builtin" {
			return t, nil, fmt.Errorf("%s: ssh is external or builtin", raw)
		}
		q.Del("ssh")
	}
	return t, q, t.Nodes.Take(q)
}
