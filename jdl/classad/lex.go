package classad

import "strings"

// lexer cuts a text into tokens. After next, tok is the token, off and end
// its place, and str or num its value.
type lexer struct {
	file string
	src  string
	at   int // where reading goes on

	line, lineStart int // of at; line counts from 0

	tok      token
	off, end int
	pos      Pos
	str      string // tokString, tokName, tokQuotedName
	lost     bool   // tokString: a backslash had no meaning and is dropped
	joined   Pos    // tokString: where a second string begins that belongs to it
	num      Value  // tokNumber
	unit     byte   // tokNumber: its suffix
	real     bool   // tokNumber: a real before the suffix
	err      *Diagnostic
	quiet    bool // keep warnings back
	warned   bool // there was one
	warnings int  // how many were handed on
	config
}

// next reads one token. After an error it stays at tokEOF.
func (l *lexer) next() {
	prev := l.tok
	if !skipBlank(l) {
		return
	}
	l.off, l.pos = l.at, l.here()
	if l.at >= len(l.src) || l.err != nil {
		l.tok, l.end = tokEOF, l.at
		return
	}
	switch c := l.src[l.at]; {
	case isLetter(c):
		word(l)
	case isDigit(c), c == '-' && !prev.endsOperand() && l.digitAt(l.at+1):
		l.number()
	case c == '"':
		l.quoted('"', tokString)
	case c == '\'':
		l.quoted('\'', tokQuotedName)
	case c == '.':
		dot(l)
	default:
		operator(l, c)
	}
	l.end = l.at
}

func (l *lexer) here() Pos { return Pos{Line: l.line + 1, Col: l.at - l.lineStart + 1} }

func (l *lexer) digitAt(i int) bool { return i < len(l.src) && isDigit(l.src[i]) }

// byteAt returns the byte at i, 0 past the end.
func (l *lexer) byteAt(i int) byte {
	if i < len(l.src) {
		return l.src[i]
	}
	return 0
}

// newline notes that the byte at i is a line feed.
func (l *lexer) newline(i int) { l.line, l.lineStart = l.line+1, i+1 }

// skipBlank skips white space and comments. It is false after an error.
func skipBlank(l *lexer) bool {
	for l.at < len(l.src) {
		switch c := l.src[l.at]; {
		case c == '\n':
			l.newline(l.at)
			l.at++
		case isSpace(c):
			l.at++
		case c == '/' && l.byteAt(l.at+1) == '/':
			l.skipLine()
		case c == '/' && l.byteAt(l.at+1) == '*':
			if !skipComment(l) {
				return false
			}
		case l.tolerant && l.skipOdd():
		default:
			return true
		}
	}
	return true
}

func (l *lexer) skipLine() {
	if n := strings.IndexByte(l.src[l.at:], '\n'); n >= 0 {
		l.at += n
	} else {
		l.at = len(l.src)
	}
}

func skipComment(l *lexer) bool {
	start := l.here()
	for i := l.at + 2; i+1 < len(l.src); i++ {
		switch {
		case l.src[i] == '\n':
			l.newline(i)
		case l.src[i] == '*' && l.src[i+1] == '/':
			l.at = i + 2
			return true
		}
	}
	l.fail(start, "comment is not closed", "*/ is missing")
	return false
}

func word(l *lexer) {
	i := l.at + 1
	for i < len(l.src) && (isLetter(l.src[i]) || isDigit(l.src[i])) {
		i++
	}
	l.str = l.src[l.at:i]
	l.tok, l.at = keyword(l.str), i
}

// dot reads "." or a number that starts with one. A second dot is swallowed,
// as in the ClassAd library: "x..y" is "x.y" and "..5" is 0.0.
func dot(l *lexer) {
	switch next := l.byteAt(l.at + 1); {
	case isDigit(next):
		l.number()
	case next == '.' && l.digitAt(l.at+2):
		for l.at += 2; l.digitAt(l.at); l.at++ {
		}
		l.tok, l.num, l.unit = tokNumber, RealValue(0), 0
	case next == '.':
		l.tok, l.at = tokDot, l.at+2
	default:
		l.tok, l.at = tokDot, l.at+1
	}
}

// operators lists the punctuation, longest first for each first byte.
var operators = [128][]struct {
	text string
	tok  token
}{
	'+': {{"+", opToken(OpAdd)}},
	'-': {{"-", opToken(OpSub)}},
	'*': {{"*", opToken(OpMul)}},
	'/': {{"/", opToken(OpDiv)}},
	'%': {{"%", opToken(OpMod)}},
	'&': {{"&&", opToken(OpAnd)}, {"&", opToken(OpBitAnd)}},
	'|': {{"||", opToken(OpOr)}, {"|", opToken(OpBitOr)}},
	'^': {{"^", opToken(OpBitXor)}},
	'~': {{"~", opToken(OpBitNot)}},
	'<': {{"<=", opToken(OpLe)}, {"<<", opToken(OpShl)}, {"<", opToken(OpLt)}},
	'>': {{">>>", opToken(OpUshr)}, {">>", opToken(OpShr)}, {">=", opToken(OpGe)}, {">", opToken(OpGt)}},
	'=': {{"=?=", opToken(OpIs)}, {"=!=", opToken(OpIsnt)}, {"==", opToken(OpEq)}, {"=", tokAssign}},
	'!': {{"!=", opToken(OpNe)}, {"!", opToken(OpNot)}},
	'?': {{"?", tokQuestion}},
	':': {{":", tokColon}},
	';': {{";", tokSemicolon}},
	',': {{",", tokComma}},
	'(': {{"(", tokLParen}},
	')': {{")", tokRParen}},
	'[': {{"[", tokLBrack}},
	']': {{"]", tokRBrack}},
	'{': {{"{", tokLBrace}},
	'}': {{"}", tokRBrace}},
}

func operator(l *lexer, c byte) {
	if c < 128 {
		for _, o := range operators[c] {
			if strings.HasPrefix(l.src[l.at:], o.text) {
				if checkEqual(l, o.tok) {
					l.tok, l.at = o.tok, l.at+len(o.text)
				}
				return
			}
		}
	}
	badByte(l)
}

// checkEqual refuses "=?" and "=!" that are not followed by "=".
func checkEqual(l *lexer, tok token) bool {
	c := l.byteAt(l.at + 1)
	if tok != tokAssign || c != '?' && c != '!' {
		return true
	}
	l.fail(l.here(), "unfinished operator ="+string(c), "write ="+string(c)+"=")
	return false
}
