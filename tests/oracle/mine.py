#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the words that an assembler knows and specs/ does not: modifiers, instructions and special registers. What
looks like a word in the strings of ptxas, and in the inline assembly of headers, is put to ptxas, whose refusal says
whether it knows the word. Words that are left out on purpose stand in mined.txt with the reason.

usage: mine.py PTXAS [--headers FOLDER]... [--all]        (--all lists the explained ones too)
"""
import argparse, codecs, json, pathlib, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
SPECS = HERE.parents[1] / 'specs'
BATCH = 100  # lines of one run: of many more, ptxas does not say what is wrong with the last ones
MODIFIER = r'[A-Za-z0-9][A-Za-z0-9_]*(?:::[A-Za-z0-9_]+)*(?:::\d+:\d+)?'
NAME = r'[a-z][a-z0-9_]*(?:\.[a-z0-9_]+(?:::[a-z0-9_]+)*)*'


def strings_of(path):
    """What is printable in a file, as it is and rotated by 13 letters: ptxas keeps its tables so."""
    for text in re.findall(rb'[\x20-\x7e]{3,}', path.read_bytes()):
        plain = text.decode()
        yield plain
        yield codecs.decode(plain, 'rot13')


def assembly_of(folder):
    for path in folder.rglob('*'):
        if path.suffix in ('.h', '.hpp', '.inl', '.cuh'):
            for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text(errors='replace')):
                if '%' in text and '.' in text:
                    yield text


def candidates(texts):
    """Modifiers, instructions and special registers that the texts may name."""
    found = (set(), set(), set())
    for text in texts:
        found[0].update(re.findall(r'\.(' + MODIFIER + ')', text))
        found[0].update(re.findall(r'\b(?:[A-Za-z0-9_]+::)+[A-Za-z0-9_]+', text))
        found[1].update(re.findall(r'(?<![\w.%])' + NAME, text))
        found[2].update(re.findall(r'%[a-z][a-z0-9_]{3,}', text))
    return found


class Assembler:
    def __init__(self, ptxas):
        self.ptxas = ptxas
        help_text = subprocess.run([ptxas, '--help'], capture_output=True, text=True).stdout
        self.target = max(re.findall(r'compute_(\d+a)\b', help_text), key=lambda name: int(name[:-1]))
        release = subprocess.run([ptxas, '--version'], capture_output=True, text=True).stdout
        self.release = re.search(r'release ([\d.]+)', release)[1]
        toolkits = json.loads((SPECS / 'targets.json').read_text())['toolkits']
        self.version = next(row.split()[1] for row in toolkits if row.split()[0] == self.release)

    def refusals(self, lines):
        """What it says of each line, alone where it says nothing among others."""
        said = {}
        for at in range(0, len(lines), BATCH):
            said.update(self.ask(lines[at:at + BATCH]))
        for line in lines:
            if line not in said:
                said.update(self.ask([line]))
        return said

    def ask(self, lines):
        head = f'.version {self.version}\n.target sm_{self.target}\n.address_size 64\n.entry k() {{\n.reg .b32 r<4>;\n'
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'words.ptx')
            path.write_text(head + '\n'.join(lines) + '\nret;\n}\n')
            run = subprocess.run([self.ptxas, '-arch', f'compute_{self.target}', str(path), '-o', '/dev/null'],
                                 capture_output=True, text=True)
        said, before = {}, head.count('\n') + 1
        for number, message in re.findall(r', line (\d+); (?:error|fatal)\s*: (.*)', run.stdout + run.stderr):
            if 0 <= int(number) - before < len(lines):
                line = lines[int(number) - before]
                said[line] = said.get(line, '') + message + '\n'
        return said

    def known(self, words, line, unknown):
        """The words whose line it does not refuse with the words for something that it does not know."""
        said = self.refusals([line(word) for word in words])
        return {word for word in words if not re.search(unknown, said.get(line(word), unknown))}


def specs_words():
    """The words of forms, targets and types, the beginnings of those that a slot ends, `kind::<kind>`, and those of forms."""
    words, beginnings, heads = set(), set(), set()
    for path in [*SPECS.glob('*.json'), *SPECS.glob('insn/*.json')]:
        text = path.read_text()
        words.update(re.findall(r'%?[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*(?::\d+)?', text))
        beginnings.update(re.findall(r'([A-Za-z0-9_:]+::)\s*<', text))
        beginnings.update(re.findall(r'<\.([A-Za-z0-9_:]+::) ', text))
        beginnings.update(re.findall(r'\.([a-z_]+)<', text))
        beginnings.update(re.findall(r'([A-Za-z0-9_]+)<:: ', text))
        for form in json.loads(text).get('forms', []):
            heads.add(re.match(r'[a-z0-9_.]*', form['text'])[0])
    return words, beginnings, heads


def is_in_specs(word, words, beginnings):
    if word in words or word.lstrip('%') in words:
        return True
    return any(word.startswith(begin) and word[len(begin):].removeprefix('::') in words for begin in beginnings)


def explained():
    reasons = {}
    reason = ''
    for line in (HERE / 'mined.txt').read_text().splitlines():
        if line.startswith('#'):
            reason = line[1:].strip()
        else:
            reasons.update({word: reason for word in line.split()})
    return reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('ptxas', type=pathlib.Path)
    parser.add_argument('--headers', type=pathlib.Path, action='append', default=[])
    parser.add_argument('--all', action='store_true')
    options = parser.parse_args()
    texts = list(strings_of(options.ptxas))
    for folder in options.headers:
        texts.extend(assembly_of(folder))
    modifiers, names, registers = candidates(texts)
    words, beginnings, heads = specs_words()
    new = [{word for word in found if not is_in_specs(word, words, beginnings)} for found in (modifiers, registers)]
    heads.discard('')
    names = {name for name in names if not all(is_in_specs(part, words, beginnings) for part in name.split('.'))
             and not any(name.startswith(head) for head in heads)}
    assembler = Assembler(str(options.ptxas))
    found = assembler.known(sorted(new[0]), lambda word: f'add.{word}.s32 r1, r2, r3;',
                            'Unknown modifier|Parsing error')
    found |= assembler.known(sorted(names), lambda name: name + ';', 'Not a name of any known|Unknown modifier|Parsing error')
    found |= assembler.known(sorted(new[1]), lambda name: f'mov.u32 r1, {name};', 'Unknown symbol|Parsing error')
    reasons = explained()
    for word in sorted(found):
        if word not in reasons:
            print(word)
        elif options.all:
            print(f'{word}  ({reasons[word]})')
    left = found - reasons.keys()
    print(f'ptxas {assembler.release}: {len(found)} words that specs/ has not, {len(left)} of them not explained',
          file=sys.stderr)
    return 1 if left else 0


if __name__ == '__main__':
    sys.exit(main())
