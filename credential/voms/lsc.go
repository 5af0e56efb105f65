package voms

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gridbroker/durable"
)

// LSC is a list of certificate chains that a VOMS server may have: each is
// the DN of the server, of its issuer, and so on.
type LSC [][]string

// parseLSC reads an LSC file: one DN a line; "------ NEXT CHAIN ------" begins
// another chain; # begins a comment. Errors name file and line.
func parseLSC(file string, r io.Reader) (LSC, error) {
	lsc := LSC{nil}
	sc := bufio.NewScanner(io.LimitReader(r, maxVomses))
	n := 1
	for ; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "-----"):
			lsc = append(lsc, nil)
		case line[0] != '/':
			return nil, fmt.Errorf("%s:%d: %q is no DN: it does not begin with a slash", file, n, line)
		default:
			lsc[len(lsc)-1] = append(lsc[len(lsc)-1], line)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, n, err)
	}
	// a separator may stand before the first chain and after the last
	lsc = slices.DeleteFunc(lsc, func(chain []string) bool { return len(chain) == 0 })
	if len(lsc) == 0 {
		return nil, fmt.Errorf("%s: it names nobody", file)
	}
	for _, chain := range lsc {
		if len(chain) < 2 {
			return nil, fmt.Errorf("%s: a chain with %d names; want the server's DN and its issuer's at least", file, len(chain))
		}
	}
	return lsc, nil
}

// ReadLSC is parseLSC of a file, which has to be a regular one.
func ReadLSC(file string) (LSC, error) {
	text, err := durable.ReadFile(file, maxVomses)
	if err != nil {
		return nil, err
	}
	return parseLSC(file, bytes.NewReader(text))
}

// Match reports whether the certificates are one of the chains: their subjects
// in order, and the issuer of the last.
func (l LSC) Match(certs []*x509.Certificate) bool {
	for _, chain := range l {
		if matchChain(chain, certs) {
			return true
		}
	}
	return false
}

func matchChain(chain []string, certs []*x509.Certificate) bool {
	if n := len(certs); n > 1 && len(chain) == n && bytes.Equal(certs[n-1].RawSubject, certs[n-1].RawIssuer) {
		certs = certs[:n-1] // a self-signed end may be carried or not
	}
	if len(certs) == 0 || len(chain) != len(certs)+1 {
		return false
	}
	for i, c := range certs {
		if !SameDN(DN(c.RawSubject), chain[i]) || !SameDN(DN(c.RawIssuer), chain[i+1]) {
			return false
		}
	}
	return true
}

// SameDN compares names in slash form, with the different spellings of two
// attributes taken as one: E, Email, emailAddress; UID, USERID.
func SameDN(a, b string) bool { return NormalDN(a) == NormalDN(b) }

var spellings = strings.NewReplacer("/Email=", "/emailAddress=", "/E=", "/emailAddress=", "/USERID=", "/UID=")

// NormalDN writes a name with one spelling of these attributes.
func NormalDN(dn string) string { return spellings.Replace(dn) }

// lscFor reads vomsdir/VO/HOST.lsc.
func lscFor(dir, vo, host string) (LSC, string, error) {
	if !plainName(vo) || !plainName(host) {
		return nil, "", fmt.Errorf("VO %q or host %q cannot be a file name", vo, host)
	}
	file := filepath.Join(dir, vo, host+".lsc")
	for _, place := range []string{dir, filepath.Dir(file)} {
		if info, err := os.Stat(place); err == nil && info.Mode().Perm()&0o002 != 0 {
			return nil, file, fmt.Errorf("everybody can write to %s (mode %04o)", place, info.Mode().Perm())
		}
	}
	lsc, err := ReadLSC(file)
	return lsc, file, err
}

// plainName refuses names that would lead out of the directory.
func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}
