"""A study's texts, written in Markdown, as HTML that is safe to show."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_ALLOWED_LINK = re.compile(r"(https?://|mailto:)", re.IGNORECASE)


@lru_cache(maxsize=256)
def as_html(text: str, *, below: int = 2) -> SafeString:
    """``text`` as HTML: CommonMark without raw HTML, images and indented code.

    ``below`` is the level of the page's heading above the text; headings in it follow on that.
    A plain text of paragraphs and line breaks looks as it was typed. Links lead to http, https and
    mailto addresses only, and open beside the study, so that nobody loses a run. Kept for a while:
    every participant reads the same few texts.
    """
    return mark_safe(_MARKDOWN.render(text, {"below": below}))


def _is_allowed_link(address: str) -> bool:
    return _ALLOWED_LINK.match(address) is not None


class _Renderer(RendererHTML):
    """Headings below those of the page; links that leave the page where it is."""

    def heading_open(self, tokens: list[Token], idx: int, options: Any, env: Any) -> str:
        return f"<{_heading(tokens[idx], env)}>"

    def heading_close(self, tokens: list[Token], idx: int, options: Any, env: Any) -> str:
        return f"</{_heading(tokens[idx], env)}>\n"

    def link_open(self, tokens: list[Token], idx: int, options: Any, env: Any) -> str:
        token = tokens[idx]
        if not str(token.attrGet("href")).lower().startswith("mailto:"):
            token.attrSet("target", "_blank")
            token.attrSet("rel", "noopener noreferrer")
        return self.renderToken(tokens, idx, options, env)


def _heading(token: Token, env: Any) -> str:
    return f"h{min(int(token.tag[1:]) + env['below'], 6)}"


def _made() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer)
    # Plain texts are indented for other reasons, and pictures would come from elsewhere.
    markdown.disable(["code", "image", "html_block", "html_inline"])
    markdown.validateLink = _is_allowed_link  # type: ignore[method-assign]
    return markdown


_MARKDOWN = _made()
