"""Hold the completion scripts of bash, zsh and fish, and write and read what they exchange with `moorage __complete`.

bash sends its line and the word as it sees it, because it breaks words at `=` and `:`; zsh and fish send words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from moorage.cli.completion import DIRECTORIES, Choice

_UNSAFE = re.compile(r"([^\w./:=@%+,~-])", re.ASCII)
_NO_SPACE, _WORD = "nospace", "word"
_FILES_TOO, _SAME_WORD, _NO_FILES, _ONLY_DIRECTORIES = 0, 2, 4, 16
_OPEN = ("=", "/")  # something follows in the same word

SCRIPTS = {
    "bash": """\
# Completion of moorage for bash. Try it:   source <(moorage completion bash)
# For good:   moorage completion bash > ~/.local/share/bash-completion/completions/moorage
_moorage() {
    local kind value found
    COMPREPLY=()
    while IFS=$'\\t' read -r kind value; do
        case $kind in
            word) COMPREPLY+=("$value") ;;
            nospace) compopt -o nospace 2>/dev/null ;;
            file | dir)
                compopt -o filenames 2>/dev/null
                while IFS= read -r found; do
                    COMPREPLY+=("$found")
                done < <(if [[ $kind == dir ]]; then compgen -d -- "$value"; else compgen -f -- "$value"; fi)
                ;;
        esac
    done < <("${1/#\\~/$HOME}" __complete bash "$COMP_LINE" "$COMP_POINT" "$2" 2>/dev/null)
}
complete -F _moorage moorage
""",
    "zsh": """\
#compdef moorage
# Completion of moorage for zsh. Try it, after compinit:   source <(moorage completion zsh)
# For good, in a directory of $fpath:   moorage completion zsh > "${fpath[1]}/_moorage"
_moorage() {
    local kind value text files
    local -a complete open
    while IFS=$'\\t' read -r kind value text; do
        case $kind in
            file | dir) files=$kind ;;
            word)
                value=${value//:/\\\\:}
                if [[ $value == *[=/] ]]; then
                    open+=("$value${text:+:$text}")
                else
                    complete+=("$value${text:+:$text}")
                fi
                ;;
        esac
    done < <(${~words[1]} __complete zsh ${(Q)words[2,CURRENT-1]} "${(Q)PREFIX}" 2>/dev/null)
    (( $#open )) && _describe -V value open -S ''
    (( $#complete )) && _describe -V value complete
    if [[ -n $files ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '*='
        if [[ $files == dir ]]; then _files -/; else _files; fi
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _moorage "$@"
else
    compdef _moorage moorage
fi
""",
    "fish": """\
# Completion of moorage for fish. Try it:   moorage completion fish | source
# For good:   moorage completion fish > ~/.config/fish/completions/moorage.fish
function __moorage_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (command $words[1] __complete fish $words[2..-1] "$current" 2>/dev/null)
        set -l fields (string split \\t -- $line)
        switch $fields[1]
            case word
                printf '%s\\t%s\\n' "$fields[2]" "$fields[3]"
            case file dir
                set -l prefix (string match -r -- '^--[^=]*=' "$current")
                set -l path (string replace -r -- '^--[^=]*=' '' "$current")
                set -l found
                if test $fields[1] = dir
                    set found (__fish_complete_directories "$path" '')
                else
                    set found (__fish_complete_path "$path")
                end
                for file in $found
                    printf '%s\\n' "$prefix$file"
                end
        end
    end
end
complete -c moorage -k -f -a '(__moorage_complete)'
""",
}


def answer(choices: list[Choice]) -> Iterator[str]:
    """Yield the lines that zsh and fish read."""
    for choice in choices:
        yield choice.kind or "\t".join((_WORD, choice.value, " ".join(choice.text.split())))


def answer_bash(choices: list[Choice], incomplete: str, quote: str, seen: str) -> Iterator[str]:
    """Yield the lines that bash reads; `seen` is the end of the incomplete word that readline will replace."""
    kept = len(incomplete) - len(seen) if seen and incomplete.endswith(seen) else _after_break(incomplete, quote)
    words = [choice.value for choice in choices if not choice.kind]
    for word in words:
        rest = word[kept:]
        yield f"{_WORD}\t{rest if quote else _UNSAFE.sub(_escaped, rest)}"
    if words and all(word.endswith(_OPEN) for word in words):
        yield _NO_SPACE
    for choice in choices:
        if choice.kind:
            yield f"{choice.kind}\t{incomplete[kept:]}"


def answer_kubectl(choices: list[Choice]) -> Iterator[str]:
    """Yield the lines that kubectl reads of `kubectl_complete-PLUGIN`: words, then a number that says what follows.

    Kubernetes: cobra's ShellCompDirective.
    """
    words = [choice for choice in choices if not choice.kind]
    for choice in words:
        text = " ".join(choice.text.split())
        yield f"{choice.value}\t{text}" if text else choice.value
    kinds = {choice.kind for choice in choices if choice.kind}
    if kinds:
        yield f":{_ONLY_DIRECTORIES if kinds == {DIRECTORIES} and not words else _FILES_TOO}"
    else:
        yield f":{_NO_FILES | (_SAME_WORD if words and all(word.value.endswith(_OPEN) for word in words) else 0)}"


def _escaped(broken: re.Match[str]) -> str:
    return f"\\{broken[1]}"


def _after_break(word: str, quote: str) -> int:
    """Return where readline begins a new word: after the last `=` or `:`, unless it is quoted."""
    return 0 if quote else max(word.rfind("="), word.rfind(":"), word.rfind("@")) + 1


def split_line(line: str, point: int) -> tuple[list[str], str, str]:
    """Split the line before the cursor: whole words, the incomplete last one, and the quote that is open in it."""
    words: list[str] = []
    word, begun, quote = "", False, ""
    characters = iter(line[:point])
    for character in characters:
        if quote and character == quote:
            quote = ""
        elif quote == "'" or (quote and character != "\\"):
            word += character
        elif character == "\\":
            word, begun = word + next(characters, ""), True
        elif character in "'\"":
            quote, begun = character, True
        elif character.isspace():
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word, begun = word + character, True
    return words, word, quote
