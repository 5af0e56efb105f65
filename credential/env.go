package credential

import (
	"path/filepath"
	"strconv"
	"time"
)

// Env is all that finding credentials takes from outside.
type Env struct {
	Getenv func(string) string
	Home   string // the user's home directory; "" where there is none
	UID    int    // effective user id
	Now    func() time.Time
}

func (e Env) now() time.Time {
	if e.Now == nil {
		return time.Now()
	}
	return e.Now()
}

func (e Env) getenv(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

func (e Env) home(elem ...string) string {
	if e.Home == "" {
		return ""
	}
	return filepath.Join(append([]string{e.Home}, elem...)...)
}

// ProxyPath is where the user's proxy is kept: $X509_USER_PROXY, else
// /tmp/x509up_u<uid>.
func (e Env) ProxyPath() string {
	if p := e.getenv("X509_USER_PROXY"); p != "" {
		return p
	}
	return "/tmp/x509up_u" + strconv.Itoa(e.UID)
}

// Options narrow down what Discover looks at. The zero value follows the
// environment.
type Options struct {
	Proxy, Cert, Key string // files named by the user; no others are then tried
	TokenFile        string
	CertDir          string // directory of CA certificates
	VOMSDir          string // directory of VOMS server descriptions
	CAs              CAs    // which certificate authorities to trust
	NoX509, NoToken  bool   // do not look for these
	// PublicCAs are patterns of hosts to which credentials go although a public
	// authority signed their certificate, AnyToken of those that get the
	// token at hand whatever audience it states.
	PublicCAs, AnyToken []string
	// Passphrase opens encrypted keys. Nil: an encrypted key is a finding.
	Passphrase func(prompt string) ([]byte, error)
}

// CAs says which certificate authorities are trusted.
type CAs string

// The choices of CAs.
const (
	AnyCA    CAs = ""       // the grid's directory and the system's
	GridCA   CAs = "grid"   // the grid's directory alone
	SystemCA CAs = "system" // the system's alone
)

// Set is what was found. What is absent or unusable is nil, and a Finding says
// why. An expired credential is there, with a Finding.
type Set struct {
	X509     *X509
	Token    *Token
	Trust    *Trust
	Findings []Finding

	// Minter gets tokens for single endpoints; nil: only Token is there.
	Minter Minter

	// Public and AnyToken tell of a host what Options.PublicCAs and
	// Options.AnyToken say; nil: no host.
	Public, AnyToken func(host string) bool

	minted mintCache
	now    func() time.Time
	found  time.Time // when Token was
}

// Dialer is what connects to hosts that get a credential; cert may be nil.
func (s *Set) Dialer(cert *X509) *Dialer {
	return &Dialer{Trust: s.Trust, Cert: cert, Guarded: true, Public: s.Public}
}

// add records a finding when err is one; it returns whether err is nil.
func (s *Set) add(err error) bool {
	if err == nil {
		return true
	}
	s.Findings = append(s.Findings, *asFinding(err))
	return false
}

// Discover looks for credentials by the conventions of the field. Absence and
// defects are findings. The error is the finding about a file that opts names
// and that cannot be used.
func Discover(env Env, opts Options) (*Set, error) {
	s := &Set{now: env.now, found: env.now(), Public: HostPatterns(opts.PublicCAs), AnyToken: HostPatterns(opts.AnyToken)}
	var err, named error
	s.Trust, err = LoadTrust(env, opts)
	s.add(err)
	if opts.CertDir != "" {
		named = err
	}
	if !opts.NoX509 {
		s.X509, err = FindX509(env, opts)
		s.add(err)
		s.Findings = append(s.Findings, s.X509.check(env.now())...)
		if named == nil && (opts.Proxy != "" || opts.Cert != "") {
			named = err
		}
	}
	if !opts.NoToken {
		s.Token, err = FindToken(env, opts)
		s.add(err)
		s.Findings = append(s.Findings, s.Token.check(env.now())...)
		if named == nil && opts.TokenFile != "" {
			named = err
		}
	}
	return s, named
}

// Finding returns the first of the findings that is about the given kind
// ("x509", "token", "trust"), the most severe first; nil when there is none.
func (s *Set) Finding(kind string) *Finding {
	for _, sev := range []Severity{Problem, Warning} {
		for i := range s.Findings {
			f := &s.Findings[i]
			if f.Severity == sev && len(f.ID) > len(kind) && f.ID[:len(kind)+1] == kind+"." {
				return f
			}
		}
	}
	return nil
}
