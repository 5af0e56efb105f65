package classad

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Unparse prints an expression in the spelling of the ClassAd library: "is"
// for =?=, reals with 16 digits, bytes above 126 as octal escapes. Parsing
// the text gives the same tree; parentheses are kept as written and added
// where a tree made by hand needs them.
func Unparse(e Expr) string {
	var u unparser
	u.Grow(96) // most are shorter
	u.expr(e, 0)
	return u.String()
}

// UnparseValue prints a value as the constant or constructor it would be in
// a text.
func UnparseValue(v Value) string {
	var u unparser
	u.value(v)
	return u.String()
}

type unparser struct{ strings.Builder }

// expr prints e where an operand of at least precedence least is needed.
func (u *unparser) expr(e Expr, least uint8) {
	n := int(e.common().parens)
	if n == 0 && binding(e) < least {
		n = 1
	}
	u.WriteString(strings.Repeat("(", n))
	u.bare(e)
	u.WriteString(strings.Repeat(")", n))
}

// operand is the precedence of what needs no parentheses anywhere.
const operand = tightest + 2

// binding is the precedence of the outermost operator of e.
func binding(e Expr) uint8 {
	switch e := e.(type) {
	case *Cond:
		return 0
	case *Binary:
		return precedence[e.Op]
	case *Unary:
		return precedence[e.Op]
	}
	return operand
}

func (u *unparser) bare(e Expr) {
	switch e := e.(type) {
	case *Literal:
		u.literal(e)
	case *AttrRef:
		if e.Absolute {
			u.WriteByte('.')
		}
		u.name(e.Name)
	case *Select:
		least := uint8(operand - 1)
		if _, ok := e.X.(*Literal); ok {
			least = operand + 1 // the dot would be a decimal point
		}
		u.expr(e.X, least)
		u.WriteByte('.')
		u.plainName(e.Name)
	case *Index:
		u.expr(e.X, operand-1)
		u.WriteByte('[')
		u.expr(e.Sub, 0)
		u.WriteByte(']')
	case *Unary:
		u.WriteString(" " + e.Op.String())
		u.expr(e.X, tightest)
	case *Binary:
		u.binary(e)
	case *Cond:
		u.expr(e.If, lowest)
		u.WriteString(" ? ")
		u.expr(e.Then, 0)
		u.WriteString(" : ")
		u.expr(e.Else, 0)
	case *Call:
		u.plainName(e.Name)
		u.WriteByte('(')
		u.list(e.Args)
		u.WriteByte(')')
	case *ListExpr:
		u.WriteString("{ ")
		u.list(e.Elems)
		u.WriteString(" }")
	case *Ad:
		u.ad(e)
	}
}

func (u *unparser) binary(e *Binary) {
	p := precedence[e.Op]
	u.expr(e.X, p)
	u.WriteString(" " + e.Op.String() + " ")
	if e.Op == OpDefault {
		u.expr(e.Y, tightest)
		return
	}
	u.expr(e.Y, p+1)
}

func (u *unparser) list(es []Expr) {
	for i, e := range es {
		if i > 0 {
			u.WriteByte(',')
		}
		u.expr(e, 0)
	}
}

func (u *unparser) ad(a *Ad) {
	u.WriteString("[ ")
	for i, t := range a.Attrs() {
		if i > 0 {
			u.WriteString("; ")
		}
		u.name(t.Name)
		u.WriteString(" = ")
		u.expr(t.Expr, 0)
	}
	u.WriteString(" ]")
}

// literal prints a number with its suffix, other constants as values.
func (u *unparser) literal(l *Literal) {
	scale, ok := unitScale(l.Unit)
	if f := l.Value.float(); l.Unit == 0 || !ok || math.IsInf(f, 0) || math.IsNaN(f) {
		u.value(l.Value)
		return
	}
	f := l.Value.float() / scale
	if !l.real {
		u.WriteString(strconv.FormatInt(int64(f), 10))
	} else {
		u.real(f)
	}
	u.WriteByte(upper(l.Unit))
}

func (u *unparser) value(v Value) {
	switch v.kind {
	case Undefined:
		u.WriteString("undefined")
	case Error:
		u.WriteString("error")
	case Bool:
		u.WriteString(strconv.FormatBool(v.num != 0))
	case Int:
		u.WriteString(strconv.FormatInt(int64(v.num), 10))
	case Real:
		u.real(v.float())
	case String:
		u.quote('"', v.str)
	case List:
		u.WriteString("{ ")
		for i, e := range v.box.list {
			if i > 0 {
				u.WriteByte(',')
			}
			u.value(e)
		}
		u.WriteString(" }")
	case Record:
		if ad := v.box.rec.ad; ad != nil {
			u.ad(ad)
		} else {
			u.WriteString("[  ]")
		}
	case AbsTime:
		u.WriteString(`absTime("` + absTimeText(v) + `")`)
	case RelTime:
		u.WriteString(`relTime("` + relTimeText(v) + `")`)
	}
}

func (u *unparser) real(f float64) {
	switch {
	case math.IsNaN(f):
		u.WriteString(`real("NaN")`)
	case math.IsInf(f, 1):
		u.WriteString(`real("INF")`)
	case math.IsInf(f, -1):
		u.WriteString(`real("-INF")`)
	case f == 0 && math.Signbit(f):
		u.WriteString("-0.0")
	case f == 0:
		u.WriteString("0.0")
	default:
		fmt.Fprintf(u, "%.15E", f)
	}
}

// name prints an attribute name, in quotes where it needs them; parent, too,
// which the ClassAd library counts among the reserved words.
func (u *unparser) name(s string) {
	if EqualFold(s, "parent") {
		u.quote('\'', s)
		return
	}
	u.plainName(s)
}

// plainName prints the name of a function, or of a selected attribute.
func (u *unparser) plainName(s string) {
	if isIdentifier(s) {
		u.WriteString(s)
		return
	}
	u.quote('\'', s)
}

// quote prints a string; what is not printable ASCII as an escape.
func (u *unparser) quote(q byte, s string) {
	u.WriteByte(q)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == q || c == '\\':
			u.WriteByte('\\')
			u.WriteByte(c)
		case escapeLetter[c] != 0:
			u.WriteByte('\\')
			u.WriteByte(escapeLetter[c])
		case c < ' ' || c > '~':
			fmt.Fprintf(u, `\%03o`, c)
		default:
			u.WriteByte(c)
		}
	}
	u.WriteByte(q)
}

// escapeLetter is the letter of an escape, by the byte it stands for.
var escapeLetter = [256]byte{7: 'a', 8: 'b', 12: 'f', 10: 'n', 13: 'r', 9: 't', 11: 'v'}

// opText is the spelling of the operators.
var opText = [...]string{
	OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%",
	OpBitAnd: "&", OpBitOr: "|", OpBitXor: "^", OpBitNot: "~", OpShl: "<<", OpShr: ">>", OpUshr: ">>>",
	OpAnd: "&&", OpOr: "||", OpNot: "!",
	OpLt: "<", OpLe: "<=", OpGt: ">", OpGe: ">=", OpEq: "==", OpNe: "!=", OpIs: "is", OpIsnt: "isnt",
	OpDefault: "?:", OpPlus: "+", OpMinus: "-",
}

// String returns the operator as Unparse spells it.
func (op Op) String() string {
	if int(op) < len(opText) {
		return opText[op]
	}
	return fmt.Sprintf("Op(%d)", op)
}
