package credential

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"gridbroker/credential/voms"
)

// namespaces says which names CAs may sign, in the format that the IGTF
// publishes beside signing policies (EUGridPMA namespaces format 1.0):
//
//	TO Issuer "/C=X/CN=CA" PERMIT Subject "/C=X/O=Y/.*"
//
// Keywords in any case; SELF stands for the CA whose file it is; a backslash
// at the end of a line continues it; # begins a comment.
type namespaces []namespaceEntry

type namespaceEntry struct {
	issuer  string // DN in slash form; "": SELF
	deny    bool
	subject *regexp.Regexp // of the whole DN, in any case
}

const namespacesVersion = "#NAMESPACES-VERSION:"

// parseNamespaces reads a namespaces file. Errors name file and line.
func parseNamespaces(file string, data []byte) (namespaces, error) {
	var all namespaces
	var weight int
	var entry strings.Builder
	first := 0
	for i, line := range bytes.Split(data, []byte("\n")) {
		text, err := withoutComment(string(line))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		if entry.Len() == 0 {
			first = i + 1
		}
		if part, more := strings.CutSuffix(text, `\`); more {
			entry.WriteString(part + " ")
			continue
		}
		entry.WriteString(text)
		if all, err = all.add(entry.String(), &weight); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, first, err)
		}
		entry.Reset()
	}
	if strings.TrimSpace(entry.String()) != "" {
		return nil, fmt.Errorf("%s:%d: the last line is continued, but nothing follows", file, first)
	}
	return all, nil
}

// withoutComment cuts a comment off; it refuses versions that are not known.
func withoutComment(line string) (string, error) {
	line = strings.TrimRight(line, " \t\r")
	if v, ok := strings.CutPrefix(line, namespacesVersion); ok && strings.TrimSpace(v) != "1.0" {
		return "", fmt.Errorf("version %q of the format is not known", strings.TrimSpace(v))
	}
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '#':
			return strings.TrimRight(line[:i], " \t"), nil
		}
	}
	return line, nil
}

// maxPatterns bounds the patterns of a file, by the steps that they are made of: .{1000} is a thousand. A step takes some
// forty bytes.
const maxPatterns = 200_000

// steps is about how many a pattern is made of.
func steps(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// pattern reads one of a whole name, in any case.
func pattern(text string, weight *int) (*regexp.Regexp, error) {
	text = `(?is)\A(?:` + voms.NormalDN(text) + `)\z`
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if *weight += steps(parsed); *weight > maxPatterns {
		return nil, fmt.Errorf("with it the file's patterns have more than %d steps", maxPatterns)
	}
	return regexp.Compile(text)
}

// add reads one entry; blank text is none. weight counts the steps of the file's patterns.
func (n namespaces) add(text string, weight *int) (namespaces, error) {
	words, err := quotedWords(text)
	if err != nil || len(words) == 0 {
		return n, err
	}
	if len(words) != 6 || !words[0].is("TO") || !words[1].is("Issuer") || !words[4].is("Subject") ||
		!words[3].is("PERMIT") && !words[3].is("DENY") || !words[5].quoted {
		return n, errors.New(`want: TO Issuer "DN" PERMIT|DENY Subject "pattern"`)
	}
	e := namespaceEntry{issuer: words[2].text, deny: words[3].is("DENY")}
	if words[2].is("SELF") {
		e.issuer = ""
	} else if !words[2].quoted || e.issuer == "" {
		return n, errors.New("the issuer is a DN in quotes, or SELF")
	}
	if e.subject, err = pattern(words[5].text, weight); err != nil {
		return n, fmt.Errorf("the pattern %q: %w", words[5].text, err)
	}
	return append(n, e), nil
}

// word is one of an entry.
type word struct {
	text   string
	quoted bool
}

func (w word) is(keyword string) bool { return !w.quoted && strings.EqualFold(w.text, keyword) }

// quotedWords splits at white space, except inside double quotes; \" is a
// quote inside them.
func quotedWords(s string) ([]word, error) {
	var words []word
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if s[0] != '"' {
			end := strings.IndexAny(s, " \t\"")
			if end < 0 {
				end = len(s)
			}
			words, s = append(words, word{s[:end], false}), s[end:]
			continue
		}
		end := closingQuote(s)
		if end < 0 {
			return nil, errors.New("a quote is not closed")
		}
		words, s = append(words, word{strings.ReplaceAll(s[1:end], `\"`, `"`), true}), s[end+1:]
	}
	return words, nil
}

// closingQuote is the place of the quote that ends the one at s[0]; -1: none.
func closingQuote(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// names reports whether an entry is about the CA with this DN, whose file it is.
func (n namespaces) names(ca string) bool {
	for _, e := range n {
		if e.issuer == "" || voms.SameDN(e.issuer, ca) {
			return true
		}
	}
	return false
}

// allows reports whether the CA may sign the subject: an entry permits it and
// none denies it.
func (n namespaces) allows(ca, subject string) bool {
	permitted := false
	for _, e := range n {
		if e.issuer != "" && !voms.SameDN(e.issuer, ca) || !e.subject.MatchString(voms.NormalDN(subject)) {
			continue
		}
		if e.deny {
			return false
		}
		permitted = true
	}
	return permitted
}
