package condor

import (
	"fmt"
	"regexp"
	"strings"
)

// splitWords splits arguments: in double quotes the new syntax, where '...'
// groups and quotes are doubled; otherwise the old one, where blanks part and
// \" is a quote.
func splitWords(s string) ([]string, error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, `"`) {
		if strings.Contains(strings.ReplaceAll(s, `\"`, ""), `"`) {
			return nil, fmt.Errorf(`a " in the old syntax is written \"`)
		}
		return strings.Fields(strings.ReplaceAll(s, `\"`, `"`)), nil
	}
	if len(s) < 2 || !strings.HasSuffix(s, `"`) {
		return nil, fmt.Errorf("the double quote is not closed")
	}
	s = s[1 : len(s)-1]
	if strings.Contains(strings.ReplaceAll(s, `""`, ""), `"`) {
		return nil, fmt.Errorf(`a " inside is written ""`)
	}
	return newWords(strings.ReplaceAll(s, `""`, `"`))
}

func newWords(s string) (words []string, err error) {
	var word strings.Builder
	begun, inside := false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' && inside && i+1 < len(s) && s[i+1] == '\'':
			word.WriteByte(c)
			i++
		case c == '\'':
			inside, begun = !inside, true
		case !inside && (c == ' ' || c == '\t'):
			if begun {
				words, begun = append(words, word.String()), false
				word.Reset()
			}
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if inside {
		return nil, fmt.Errorf("a single quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// splitEnvironment reads NAME=value pairs: in double quotes as words of the new
// syntax, otherwise parted by semicolons.
func splitEnvironment(s string) ([]string, error) {
	if strings.HasPrefix(strings.TrimSpace(s), `"`) {
		return splitWords(s)
	}
	var out []string
	for _, pair := range strings.Split(s, ";") {
		if pair = strings.TrimSpace(pair); pair != "" {
			out = append(out, pair)
		}
	}
	return out, nil
}

// In the value of a variable, what looks like the beginning of the next one, parted from it as the other syntax does or none.
var (
	nextOld = regexp.MustCompile(`^\w+=[^|\s]*[|\s]\s*([A-Za-z_]\w*=)`)
	nextNew = regexp.MustCompile(`^\w+=[^;|]*[;|]\s*([A-Za-z_]\w*=)`)
)

// swallowed is "NAME=" where a pair of an environment seems to have another one in its value; "" where it has none.
func swallowed(environment, pair string) string {
	next := nextOld
	if strings.HasPrefix(strings.TrimSpace(environment), `"`) {
		next = nextNew
	}
	if m := next.FindStringSubmatch(pair); m != nil {
		return m[1]
	}
	return ""
}
