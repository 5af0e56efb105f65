package jdl

import (
	"errors"
	"fmt"
	"strings"
)

// errArgs is what is wrong with an Arguments string.
var (
	errQuoteOpen = errors.New("a quote is not closed")
	errLastSlash = errors.New("it ends in a backslash")
)

// SplitArgs splits the value of Arguments into words by the quoting rules of
// the gLite JDL: blanks separate, "..." and '...' group, a backslash takes
// the next character as it is (inside '...' it is plain text). The characters
// & | > < stand for themselves only inside quotes or after a backslash;
// elsewhere they are an error, because no shell reads the words.
func SplitArgs(s string) ([]string, error) {
	sp := argSplitter{}
	for i := 0; i < len(s); i++ {
		if err := sp.take(s[i]); err != nil {
			return nil, err
		}
	}
	return sp.end()
}

// argSplitter is a splitter's state between two bytes.
type argSplitter struct {
	words   []string
	word    []byte
	started bool // a word is begun, if only by empty quotes
	quote   byte // the quote we are inside of, or 0
	escaped bool // the byte before was a backslash
}

func (sp *argSplitter) take(c byte) error {
	switch {
	case sp.escaped:
		sp.escaped = false
		if sp.quote == '"' && c != '"' && c != '\\' {
			sp.word = append(sp.word, '\\')
		}
		sp.add(c)
	case c == '\\' && sp.quote != '\'':
		sp.escaped = true
	case sp.quote != 0 && c == sp.quote:
		sp.quote = 0
	case sp.quote != 0:
		sp.add(c)
	case c == '"' || c == '\'':
		sp.quote, sp.started = c, true
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		sp.flush()
	case strings.IndexByte("&|><", c) >= 0:
		return fmt.Errorf("%q stands outside quotes, and no shell reads the arguments", c)
	default:
		sp.add(c)
	}
	return nil
}

func (sp *argSplitter) add(c byte) {
	sp.word = append(sp.word, c)
	sp.started = true
}

func (sp *argSplitter) flush() {
	if sp.started {
		sp.words = append(sp.words, string(sp.word))
		sp.word, sp.started = sp.word[:0], false
	}
}

func (sp *argSplitter) end() ([]string, error) {
	if sp.quote != 0 {
		return nil, errQuoteOpen
	}
	if sp.escaped {
		return nil, errLastSlash
	}
	sp.flush()
	return sp.words, nil
}

// JoinArgs is the inverse of SplitArgs: SplitArgs(JoinArgs(words)) gives the
// words again.
func JoinArgs(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteArg(w)
	}
	return strings.Join(quoted, " ")
}

var argEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func quoteArg(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\r\n\"'\\&|><") {
		return w
	}
	return `"` + argEscaper.Replace(w) + `"`
}
