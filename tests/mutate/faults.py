# SPDX-License-Identifier: Apache-2.0
"""Where in a C++ file a small fault can be planted, and what it is.

A place is an operator, an integer constant, a boolean, or the condition of an `if` that guards an early exit. Comments,
literals, preprocessor lines, template argument lists, static_assert, attributes and the like are no places. The sources
are formatted by clang-format, so a space on both sides tells a binary `<`, `*` or `&` from a bracket, a pointer or a
reference. What slips through does not compile, and another fault is drawn in its stead.
"""
import dataclasses
import hashlib
import re

TOKEN = re.compile(r'''
    (?P<directive>^[^\S\n]*\#(?:\\\n|[^\n])*)
  | (?P<space>\s+?(?=\S|\n|\Z) | //[^\n]* | /\*.*?\*/)
  | (?P<text>(?:u8|[uUL])?R"(?P<fence>[^()\\\s]*)\(.*?\)(?P=fence)" | (?:u8|[uUL])?"(?:\\.|[^"\\])*" | (?:u8|[uUL])?'(?:\\.|[^'\\])+')
  | (?P<number>\.?\d(?:[eEpP][-+]|'?[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark><=>|<<=|>>=|->\*|\.\.\.|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|->|::|[-+*/%&|^]=|.)
''', re.VERBOSE | re.MULTILINE | re.DOTALL)

BINARY = {
    '<': ['<=', '>='], '<=': ['<', '>'], '>': ['>=', '<='], '>=': ['>', '<'], '==': ['!='], '!=': ['=='],
    '+': ['-'], '-': ['+'], '*': ['/', '+'], '/': ['*'], '%': ['/'], '<<': ['>>'], '>>': ['<<'],
    '&': ['|'], '|': ['&'], '^': ['|'], '&&': ['||'], '||': ['&&'],
    '+=': ['-='], '-=': ['+='], '*=': ['+='], '/=': ['*='], '%=': ['/='], '<<=': ['>>='], '>>=': ['<<='],
    '&=': ['|='], '|=': ['&='], '^=': ['|='],
}
UNARY = {'!': [''], '-': ['']}
STEP = {'++': ['--'], '--': ['++']}
BOOLEAN = {'true': ['false'], 'false': ['true']}
# What stands in their parentheses changes no result: it is checked or forgotten at compile time, or a hint.
IGNORED_CALLS = {'static_assert', 'noexcept', 'alignas', 'decltype', 'requires', 'reserve'}
EXITS = {'return', 'continue', 'break', 'throw'}
CLOSING = {'(': ')', '[': ']', '{': '}'}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    spaced: bool  # white space on both sides

    @property
    def end(self):
        return self.start + len(self.text)


@dataclasses.dataclass(frozen=True)
class Place:
    """A part of a file that can be replaced. Its id does not depend on the lines around it."""
    file: str
    start: int
    before: str
    options: tuple
    line: int
    column: int
    was: str  # the line without its indentation
    id: str

    def fault(self, seed):
        """The replacement that this seed draws."""
        return self.options[int(rank(seed, self.id)[:8], 16) % len(self.options)]


def tokens(text):
    found = []
    for match in TOKEN.finditer(text):
        if match.lastgroup == 'space': continue
        start, end = match.span()
        spaced = start > 0 and text[start - 1].isspace() and end < len(text) and text[end].isspace()
        kind = next(kind for kind in ('directive', 'text', 'number', 'word', 'mark') if match[kind] is not None)
        found.append(Token(kind, match[0], start, spaced))
    return found


def closing(found, at):
    """Index of the bracket that closes the one at `at`, or of the last token."""
    opening, depth = found[at].text, 0
    for i in range(at, len(found)):
        if found[i].kind != 'mark': continue
        depth += (found[i].text == opening) - (found[i].text == CLOSING[opening])
        if depth == 0: return i
    return len(found) - 1


def closing_angle(found, at):
    """The same of a template's `<`; `at` itself where it turns out to be none."""
    depth, i = 0, at
    while i < len(found):
        token = found[i]
        if token.text in CLOSING and token.kind == 'mark':
            i = closing(found, i)
        elif token.text == '<' and not token.spaced:
            depth += 1
        elif token.text in ('>', '>>'):
            depth -= len(token.text)
            if depth <= 0: return i
        elif token.text in (';', ')', ']', '}'):
            return at
        i += 1
    return at


def ignored(found):
    """Indices of tokens in which no fault is planted."""
    skipped, i = set(), 0
    while i < len(found):
        token, end = found[i], i
        following = found[i + 1] if i + 1 < len(found) else None
        if token.kind in ('directive', 'text'):
            end = i
        elif token.text in IGNORED_CALLS and following and following.text == '(':
            end = closing(found, i + 1)
        elif token.text == 'operator':
            while end + 1 < len(found) and found[end + 1].text != '(': end += 1
        elif token.text == 'template' and following and following.text == '<':
            end = closing_template(found, i + 1)
        elif token.text == '[' and following and following.text == '[':
            end = closing(found, i)
        elif token.text == '<' and not token.spaced and i > 0 and found[i - 1].end == token.start:
            end = closing_angle(found, i)
        elif token.text == 'virtual':
            while end + 1 < len(found) and found[end].text not in (';', '{'): end += 1
        else:
            i += 1
            continue
        skipped.update(range(i, end + 1))
        i = end + 1
    return skipped


def closing_template(found, at):
    depth = 0
    for i in range(at, len(found)):
        if found[i].text == '<': depth += 1
        if found[i].text in ('>', '>>'): depth -= len(found[i].text)
        if depth <= 0: return i
    return at


def other_integers(text):
    """One more and one less, written as the constant is; of 1 also 0, of 0 only 1."""
    match = re.fullmatch(r"(0[xX][\da-fA-F']+|0|[1-9][\d']*)([uUlLzZ]*)", text)
    if not match: return []
    value = int(match[1].replace("'", ''), 0)
    write = (lambda n: f'0x{n:x}') if match[1][:2].lower() == '0x' else str
    return [write(n) + match[2] for n in (value + 1, value - 1) if n >= 0]


def is_unary(found, i):
    before = found[i - 1] if i > 0 else None
    operand = before and (before.kind in ('number', 'text') or before.text in (')', ']', '}') or
                          before.kind == 'word' and before.text not in ('return', 'case', 'co_return'))
    return not found[i].spaced and not operand and i + 1 < len(found) and found[i + 1].start == found[i].end


def options(found, i):
    token = found[i]
    if token.kind == 'number': return other_integers(token.text)
    if token.kind == 'word': return BOOLEAN.get(token.text, [])
    if token.kind != 'mark': return []
    if token.text in STEP: return STEP[token.text]
    if token.spaced and token.text in BINARY: return BINARY[token.text]
    return UNARY[token.text] if token.text in UNARY and is_unary(found, i) else []


def guard(found, i):
    """(first, last) token of the condition of an `if` at `i` whose body begins with an early exit, else None."""
    if found[i].text != 'if' or i + 1 >= len(found) or found[i + 1].text != '(': return None
    end, first = closing(found, i + 1), i + 2
    for j in range(first, end):
        if found[j].text == ';': first = j + 1
    if any(token.text == '=' for token in found[first:end]): return None  # a declaration
    body = end + 1
    while body < len(found) and found[body].text == '{': body += 1
    exits = body < len(found) and found[body].text in EXITS and first < end
    return (first, end - 1) if exits else None


def rank(seed, key):
    return hashlib.sha256(f'{seed}\n{key}'.encode()).hexdigest()


def places(file, text):
    """All places of a file, in order."""
    found = tokens(text)
    skipped = ignored(found)
    edits = []
    for i, token in enumerate(found):
        if i in skipped: continue
        if choices := options(found, i): edits.append((token.start, token.text, choices))
        if condition := guard(found, i):
            start, end = found[condition[0]].start, found[condition[1]].end
            edits.append((start, text[start:end], [f'!({text[start:end]})']))
    return [place(file, text, *edit) for edit in sorted(edits)]


def place(file, text, start, before, choices):
    first = text.rfind('\n', 0, start) + 1
    was = text[first:].split('\n', 1)[0]
    twins = sum(line.strip() == was.strip() for line in text[:first].split('\n'))  # above, that read the same
    indent = len(was) - len(was.lstrip())
    key = '\n'.join([file, was.strip(), str(twins), str(start - first - indent), before])
    return Place(file, start, before, tuple(choices), text.count('\n', 0, start) + 1, start - first + 1, was.strip(),
                 hashlib.sha256(key.encode()).hexdigest()[:12])


def planted(text, place, after):
    """The file with the fault, and the line of it, without its indentation."""
    mutant = text[:place.start] + after + text[place.start + len(place.before):]
    first = text.rfind('\n', 0, place.start) + 1
    return mutant, mutant[first:].split('\n', 1)[0].strip()
