package credential

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gridbroker/durable"
)

// Contacts remembers which authority spoke for a host at the first contact, as
// ssh's known_hosts does: jobs and delegations do not go to a host that another
// authority speaks for since. Certificates may be renewed and keys change; the
// authority stays.
type Contacts struct {
	Dir string           // one file per host and port, mode 0600
	Now func() time.Time // nil: time.Now
}

// contact is what a file of Contacts holds.
type contact struct {
	Host      string    `json:"host"`      // host:port
	Authority string    `json:"authority"` // DN of the root that spoke for it
	First     time.Time `json:"first"`
}

// check compares with the first contact, or notes it. speakers are the names
// of the roots of all chains that verify.
func (c *Contacts) check(addr string, speakers []string) error {
	if len(speakers) == 0 {
		return nil
	}
	file := c.file(addr)
	text, err := durable.ReadFile(file, 64<<10)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 { // empty: whoever wrote it was killed, and had told nobody yet
		return c.note(file, addr, speakers[0])
	}
	var was contact
	if err == nil {
		err = json.Unmarshal(text, &was)
	}
	if err != nil {
		return problem("server.contact", file, "the note on the first contact with the host cannot be read", "", "remove the file, if you know the host to be the right one").because(err)
	}
	if slices.Contains(speakers, was.Authority) {
		return nil
	}
	return problem("server.changed", addr, "another authority speaks for the host than at the first contact",
		was.Authority+" on "+was.First.UTC().Format("2006-01-02")+", now "+strings.Join(speakers, " or "),
		"if the site confirms the change: rm "+file)
}

func (c *Contacts) file(addr string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(addr)))
	return filepath.Join(c.Dir, hex.EncodeToString(sum[:12])+".json")
}

// note keeps the first contact. A disk that takes nothing does not stop a job.
func (c *Contacts) note(file, addr, authority string) error {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	text, err := json.Marshal(contact{Host: addr, Authority: authority, First: now()})
	if err == nil {
		err = os.MkdirAll(c.Dir, 0o700)
	}
	if err == nil {
		_ = durable.WriteFile(file, text)
	}
	return nil
}

// speakers are the DNs of the roots of all verified chains, those above a
// subordinate authority of the directory included.
func speakers(t *Trust, cs tls.ConnectionState) []string {
	var names []string
	for _, chain := range cs.VerifiedChains {
		if whole, err := t.extend(chain); err == nil {
			chain = whole
		}
		if dn := DN(chain[len(chain)-1].RawSubject); !slices.Contains(names, dn) {
			names = append(names, dn)
		}
	}
	return names
}
