package credential

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"gridbroker/credential/voms"
)

// signingPolicy says which names each CA may sign (the Globus EACL format of
// IGTF distributions).
type signingPolicy []policyEntry

type policyEntry struct {
	ca       string   // DN in slash form
	subjects []string // patterns with * and ?
}

// parseSigningPolicy reads a signing_policy file. Errors name file and line.
func parseSigningPolicy(file string, data []byte) (signingPolicy, error) {
	var p signingPolicy
	sc := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := p.addLine(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, e := range p {
		if len(e.subjects) == 0 {
			return nil, fmt.Errorf("%s: no cond_subjects for %s", file, e.ca)
		}
	}
	return p, nil
}

func (p *signingPolicy) addLine(line string) error {
	keyword, rest := cutField(line)
	scheme, value := cutField(rest)
	switch keyword {
	case "access_id_CA":
		if !strings.EqualFold(scheme, "X509") {
			return fmt.Errorf("access_id_CA of kind %q", scheme)
		}
		*p = append(*p, policyEntry{ca: unquote(value)})
		return nil
	case "pos_rights", "neg_rights":
		if keyword == "pos_rights" && strings.TrimSpace(value) == "CA:sign" {
			return nil
		}
		return fmt.Errorf("rights %q are not understood", line)
	case "cond_subjects":
		if len(*p) == 0 {
			return errors.New("cond_subjects before access_id_CA")
		}
		last := &(*p)[len(*p)-1]
		last.subjects = append(last.subjects, patterns(unquote(value))...)
		return nil
	}
	return fmt.Errorf("keyword %q is not known", keyword)
}

func cutField(s string) (field, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// patterns splits `"/C=X/*" "/C=Y/*"`; a single pattern needs no quotes.
func patterns(s string) []string {
	if !strings.Contains(s, `"`) {
		return []string{strings.TrimSpace(s)}
	}
	var out []string
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		}
	}
	return out
}

// allows reports whether the CA may sign the subject. A file that does not
// name the CA allows nothing.
func (p signingPolicy) allows(ca, subject string) bool {
	for _, e := range p {
		if !voms.SameDN(e.ca, ca) {
			continue
		}
		for _, pattern := range e.subjects {
			if matchDN(pattern, subject) {
				return true
			}
		}
	}
	return false
}

// matchDN matches a name against a pattern whose * takes any characters, also
// slashes.
func matchDN(pattern, dn string) bool {
	// path.Match gives * and ? their meaning but stops * at slashes; a
	// character that names do not have takes their place. Brackets and
	// backslashes are themselves.
	hide := strings.NewReplacer("/", "\x01", "[", "\x02", "]", "\x03", `\`, "\x04")
	ok, err := path.Match(hide.Replace(voms.NormalDN(pattern)), hide.Replace(voms.NormalDN(dn)))
	return err == nil && ok
}
