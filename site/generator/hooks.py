"""Changes to pages that mkdocs has made: the theme's search is a dialog without a name for readers of screens."""

import logging

import jieba

# It reports where its dictionary is.
jieba.setLogLevel(logging.WARNING)
NAMES = {"en": "Search", "zh": "搜索"}


def named(output: str, config) -> str:
    return output.replace('role="dialog"', f'role="dialog" aria-label="{NAMES[config.theme["language"]]}"')


def on_post_page(output: str, page, config) -> str:
    return named(output, config)


def on_post_template(output_content: str, template_name: str, config) -> str:
    return named(output_content, config)
