package credential

import (
	"errors"
	"io/fs"
	"net/url"
	"path/filepath"
	"strconv"
)

// FindToken looks for a bearer token as the WLCG bearer token discovery (1.0)
// says: $BEARER_TOKEN, the file $BEARER_TOKEN_FILE, $XDG_RUNTIME_DIR/bt_u<uid>,
// /tmp/bt_u<uid>. An empty place is passed over; the first that has something
// decides, good or bad. All errors are a *Finding.
func FindToken(env Env, opts Options) (*Token, error) {
	if opts.TokenFile != "" {
		return readToken(env, opts.TokenFile)
	}
	if text := env.getenv("BEARER_TOKEN"); text != "" {
		if t, err := ParseToken("$BEARER_TOKEN", text); !isEmpty(err) {
			return t, err
		}
	}
	if file := env.getenv("BEARER_TOKEN_FILE"); file != "" {
		if t, err := readToken(env, file); !isEmpty(err) {
			return t, err
		}
	}
	for _, path := range env.tokenPaths() {
		t, err := readToken(env, path)
		if isEmpty(err) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return t, err
	}
	return nil, &Finding{ID: "token.absent", Severity: Note, What: "no bearer token found",
		Why:  "looked at $BEARER_TOKEN, $BEARER_TOKEN_FILE, $XDG_RUNTIME_DIR and /tmp/bt_u" + strconv.Itoa(env.UID),
		Mend: "grid auth login --issuer URL"}
}

// tokenPaths are the default files, the first preferred.
func (e Env) tokenPaths() []string {
	name := "bt_u" + strconv.Itoa(e.UID)
	if dir := e.getenv("XDG_RUNTIME_DIR"); dir != "" {
		return []string{filepath.Join(dir, name), filepath.Join("/tmp", name)}
	}
	return []string{filepath.Join("/tmp", name)}
}

// TokenPath is where a new token is stored: $BEARER_TOKEN_FILE, else the first
// default place.
func (e Env) TokenPath() string {
	if f := e.getenv("BEARER_TOKEN_FILE"); f != "" {
		return f
	}
	return e.tokenPaths()[0]
}

func readToken(env Env, path string) (*Token, error) {
	data, err := readSecret(env, "token", "token file", path)
	if err != nil {
		if f := asFinding(err); f.ID == "token.absent" {
			f.Mend = "grid auth login --issuer URL, or correct $BEARER_TOKEN_FILE"
		}
		return nil, err
	}
	defer clear(data)
	return ParseToken(path, string(data))
}

// isEmpty tells an empty place, which discovery passes over.
func isEmpty(err error) bool {
	f, ok := errors.AsType[*Finding](err)
	return ok && f.ID == "token.absent" && f.Severity == Note
}

// AudienceOf is the audience a token for an endpoint should have: scheme and
// host, without a default port and path (WLCG token profile 1.3); that of an
// HTCondor-CE (condor://host:port) is host:port. Text that is no URL is
// returned as it is.
func AudienceOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return endpoint
	}
	if u.Scheme == "condor" {
		return u.Host
	}
	host := u.Host
	if p := u.Port(); p == "443" && u.Scheme == "https" || p == "80" && u.Scheme == "http" {
		host = host[:len(host)-len(p)-1]
	}
	return u.Scheme + "://" + host
}
