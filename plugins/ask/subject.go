package ask

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"gridbroker/glue"
)

// Subject is a service named in the configuration with the resources it tells
// about: "URL", for resources on the URL's host, or "PATTERN=URL", for those
// whose name, id, site or host is, or fits, the pattern ("*=URL": all).
type Subject struct {
	URL     string
	pattern string
}

// ParseSubject reads one entry of the configuration. Schemes lists the schemes
// a URL may have.
func ParseSubject(entry string, schemes ...string) (Subject, error) {
	s := Subject{URL: entry}
	if before, after, ok := strings.Cut(entry, "="); ok && !strings.Contains(before, "://") {
		s = Subject{URL: after, pattern: strings.ToLower(before)}
		if _, err := path.Match(s.pattern, ""); err != nil || before == "" {
			return s, fmt.Errorf("%s: %q is no pattern of resource names", entry, before)
		}
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return s, err
	}
	for _, scheme := range schemes {
		if u.Scheme == scheme && (u.Host != "" || u.Path != "") {
			if s.pattern == "" {
				s.pattern = strings.ToLower(u.Hostname())
			}
			return s, nil
		}
	}
	return s, fmt.Errorf("%s: not a URL of a service; its scheme is one of %s", entry, strings.Join(schemes, ", "))
}

// About reports whether the service tells about a resource.
func (s Subject) About(r *glue.Resource) bool {
	for _, name := range []string{r.Name, r.ID, r.Site, r.CE} {
		if name == "" {
			continue
		}
		name = strings.ToLower(name)
		if ok, _ := path.Match(s.pattern, name); ok || s.pattern == name || s.pattern == "*" {
			return true
		}
	}
	return false
}
