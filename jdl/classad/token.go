package classad

// token is a lexical kind. Operators are tokens from tokOp on: tokOp+Op.
type token uint8

const (
	tokEOF token = iota
	tokNumber
	tokString
	tokName
	tokQuotedName
	tokTrue
	tokFalse
	tokUndefined
	tokError
	tokAssign   // =
	tokQuestion // ?
	tokColon
	tokSemicolon
	tokComma
	tokDot
	tokLParen
	tokRParen
	tokLBrack
	tokRBrack
	tokLBrace
	tokRBrace
	tokOp
)

func opToken(op Op) token { return tokOp + token(op) }

// keyword returns the token of a word, tokName when it is a plain name.
func keyword(word string) token {
	switch len(word) {
	case 2:
		if EqualFold(word, "is") {
			return opToken(OpIs)
		}
	case 4:
		if EqualFold(word, "true") {
			return tokTrue
		}
		if EqualFold(word, "isnt") {
			return opToken(OpIsnt)
		}
	case 5:
		if EqualFold(word, "false") {
			return tokFalse
		}
		if EqualFold(word, "error") {
			return tokError
		}
	case 9:
		if EqualFold(word, "undefined") {
			return tokUndefined
		}
	}
	return tokName
}

// endsOperand reports whether a "-" after the token is a subtraction.
func (t token) endsOperand() bool {
	switch t {
	case tokNumber, tokString, tokName, tokQuotedName, tokTrue, tokFalse, tokUndefined, tokError,
		tokRParen, tokRBrack, tokRBrace:
		return true
	}
	return false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isSpace(c byte) bool  { return c == ' ' || '\t' <= c && c <= '\r' }

// isIdentifier reports whether a name needs no quotes.
func isIdentifier(s string) bool {
	if s == "" || !isLetter(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !isLetter(s[i]) && !isDigit(s[i]) {
			return false
		}
	}
	return keyword(s) == tokName
}
