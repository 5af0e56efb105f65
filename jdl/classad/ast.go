package classad

// Pos is a place in a source text. Line and Col count from 1; Col counts
// bytes. The zero Pos means "not from a text".
type Pos struct{ Line, Col int }

// Expr is a node of an expression tree. The set of nodes is sealed: Literal,
// AttrRef, Select, Index, Unary, Binary, Cond, Call, ListExpr and *Ad.
type Expr interface {
	Pos() Pos
	expr()
	common() *at
}

type at struct {
	pos    Pos
	parens uint8 // pairs of parentheses written around the node
}

func (a *at) Pos() Pos    { return a.pos }
func (a *at) common() *at { return a }

// Placed sets the place of a node that was made by hand and returns the node.
func Placed[E Expr](e E, pos Pos) E {
	e.common().pos = pos
	return e
}

// Literal is a constant.
type Literal struct {
	at
	Value Value
	Unit  byte // the suffix of a number, as written: B K M G T; 0: none
	real  bool // a number with a suffix was a real before it
	lost  bool // of a string: a backslash had no meaning and was dropped
}

// AttrRef is a bare attribute name, or with Absolute set ".name".
type AttrRef struct {
	at
	Name     string // as written
	Absolute bool
	key      string // Name in lower case; "" when made by hand
}

// Select is "X.Name".
type Select struct {
	at
	X    Expr
	Name string
}

// Index is "X[Sub]".
type Index struct {
	at
	X, Sub Expr
}

// Unary is a prefix operator: - + ! ~.
type Unary struct {
	at
	Op Op
	X  Expr
}

// Binary is an infix operator, the default operator "?:" included.
type Binary struct {
	at
	Op   Op
	X, Y Expr
}

// Cond is "If ? Then : Else".
type Cond struct {
	at
	If, Then, Else Expr
}

// Call is a function call.
type Call struct {
	at
	Name string // as written
	Args []Expr
	fn   *function // nil: not looked up yet, or unknown
}

// ListExpr is "{ a, b }".
type ListExpr struct {
	at
	Elems []Expr
}

func (*Literal) expr()  {}
func (*AttrRef) expr()  {}
func (*Select) expr()   {}
func (*Index) expr()    {}
func (*Unary) expr()    {}
func (*Binary) expr()   {}
func (*Cond) expr()     {}
func (*Call) expr()     {}
func (*ListExpr) expr() {}
func (*Ad) expr()       {}

// Op is an operator.
type Op uint8

// The operators of the language.
const (
	OpAdd Op = iota + 1
	OpSub
	OpMul
	OpDiv
	OpMod
	OpBitAnd
	OpBitOr
	OpBitXor
	OpBitNot
	OpShl
	OpShr
	OpUshr
	OpAnd
	OpOr
	OpNot
	OpLt
	OpLe
	OpGt
	OpGe
	OpEq
	OpNe
	OpIs      // =?=, is
	OpIsnt    // =!=, isnt
	OpDefault // x ?: y
	OpPlus    // prefix +
	OpMinus   // prefix -
)

// Ad is a ClassAd record: attributes in the order of the text, names compared
// without case (ASCII). It is an expression node too, for nested records. The
// zero Ad is an empty record. Reading an Ad from several goroutines is safe
// while none changes it.
type Ad struct {
	at
	attrs []Attr
	index map[string]int // lower-cased name to place in attrs; nil while attrs is small
	pack  *packed        // instead of attrs, of a record that was parsed and not changed
}

// Attr is one attribute of an Ad.
type Attr struct {
	Name    string // the first spelling met
	Expr    Expr
	NamePos Pos
}

// Scope answers attribute names of the other ad of a match. ok is false for
// UNDEFINED names. Names arrive as written; a Scope ignores ASCII case.
type Scope interface {
	Lookup(name string) (v Value, ok bool)
}

// Mirrored is the operator that compares the same operands the other way
// round: < for >. Others are as they were.
func (op Op) Mirrored() Op {
	switch op {
	case OpLe:
		return OpGe
	case OpLt:
		return OpGt
	case OpGe:
		return OpLe
	case OpGt:
		return OpLt
	}
	return op
}
